"""Find an interpreter that can run the engine; readable by any Python 3.

An agent's shell often has the virtual environment of the project it works on activated. Its Python
lacks what the engine needs, so the engine moves over to its own environment, which scripts/setup.sh
made beside it.
"""

import importlib.util
import os
import sys

MINIMUM = (3, 11)
REPOSITORY = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
OWN_ENVIRONMENT = os.path.join(REPOSITORY, ".venv")


def ensure_interpreter():
    """Go on where this interpreter will do; else start again in the engine's own one.

    Ends the process with exit code 1 and a JSON error on stderr where there is neither.
    """
    if sys.version_info >= MINIMUM and importlib.util.find_spec("tantivy") is not None:
        if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
            # in this locale Python could not open files whose names are not ASCII
            os.execv(sys.executable, [sys.executable, "-X", "utf8"] + sys.argv)
        return
    own = os.path.join(OWN_ENVIRONMENT, "bin", "python")
    inside = os.path.realpath(sys.prefix) == os.path.realpath(OWN_ENVIRONMENT)
    if os.access(own, os.X_OK) and not inside:
        os.execv(own, [own] + sys.argv)
    sys.stderr.write(
        '{"schema_version": "1.0", "error": "The engine needs Python 3.11 or newer (3.10 has '
        "reached its end of life) with the packages of rag-engine/requirements.txt. Run "
        'bash scripts/setup.sh in the repository once."}\n'
    )
    sys.exit(1)
