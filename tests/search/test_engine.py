"""The engine over a small real index: modes, presets, fallbacks, and what an answer holds."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from answers import check_answer, check_error
from fakes import HashEmbedder
from rag_engine.embed import registry
from rag_engine.embed.embedder import Embedder, ModelIdentity
from rag_engine.embed.registry import check_same_model
from rag_engine.errors import (
    DependencyMissingError,
    IndexDamagedError,
    ModelMismatchError,
    ModelUnavailableError,
    NoIndexError,
)
from rag_engine.search import engine
from rag_engine.search.answer import Answer, error_to_dict
from rag_engine.search.engine import SearchContext, load_for_index, search
from rag_engine.search.fusion import FusionSettings
from rag_engine.search.request import SearchRequest, plan_search
from rag_engine.store.files import remove_folder
from rag_engine.store.manifest import Manifest, Root, write_manifest
from rag_engine.store.snapshot import Snapshot, open_snapshot
from store.samples import DIMENSION, EMBEDDER, ROOT, publish_records, record

NOTES = [
    record(1, "deploy the service with the release script", title="Release", scope="dev",
           heading_path=("# Release", "## Deploy"), path="ops/release.md", line_start=5,
           line_end=9, tags=("ops", "ci"), authors=("Li", "王"), date="2024-05-01"),
    record(2, "roll back a release by hand", title="Release", scope="dev", path="ops/release.md",
           heading_path=("# Release", "## Roll back"), line_start=11, line_end=12),
    record(3, "部署失败时先看日志，再回滚", title="部署", scope="ops", date="2023-01-01"),
    record(4, "我家的猫喜欢晒太阳", title="猫", authors=("Li",)),
    record(5, 'quotes " and \\ and \u2028 and 😀 and deploy', tags=("it's",), scope="dev"),
    *(record(10 + number, f"filler text number {number}", title="filler") for number in range(20)),
]  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index that tests only read."""
    folder = tmp_path_factory.mktemp("knowledge")
    publish_records(folder, NOTES)
    return folder


def same(manifest: Manifest) -> Embedder:
    """Load the model that the indexes here were built with."""
    assert manifest.model == EMBEDDER.identity
    return EMBEDDER


def missing(manifest: Manifest) -> Embedder:
    """Stand for a machine without the model."""
    raise ModelUnavailableError(f"The model {manifest.model.name} is not there.", "Get it.")


def ask(folder: Path, query: str, context: SearchContext | None = None, **asked: Any) -> Answer:
    """Search, and check that the answer keeps the contract."""
    plan = plan_search(SearchRequest(query=query, **asked))
    answer = search(plan, folder, context or SearchContext(load_model=same))
    check_answer(json.dumps(answer.to_dict(), ensure_ascii=False, allow_nan=False))
    return answer


def found(answer: Answer) -> list[int]:
    """Return the numbers of the records in an answer."""
    return [int(result.record.chunk_id, 16) for result in answer.results]


MODES = ("fts", "vector", "hybrid")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_note_that_answers(index: Path, mode: str) -> None:
    """English and Chinese, in full text, vectors and both."""
    assert found(ask(index, "deploy the service", mode=mode))[0] == 1
    assert found(ask(index, "部署失败看日志", mode=mode))[0] == 3


@pytest.mark.parametrize("mode", MODES)
def test_two_runs_give_the_same_answer(index: Path, mode: str) -> None:
    """Agents compare answers; only times may differ."""
    first, second = (ask(index, "deploy 猫 filler", mode=mode, top=50) for _ in range(2))
    assert first.results == second.results


@pytest.mark.parametrize("mode", MODES)
def test_scores_fall_and_have_six_decimals(index: Path, mode: str) -> None:
    """Twenty nearly equal notes: rounding must not make a list rise."""
    data = ask(index, "filler text number", mode=mode, top=50).to_dict()
    scores = [result["score"] for result in data["results"]]
    assert len(scores) >= 20
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 and score == round(score, 6) for score in scores)


def test_an_answer_shows_what_is_needed_to_cite(index: Path) -> None:
    """File, heading path, lines and metadata, as the contract writes them."""
    data = ask(index, "deploy the service", mode="fts", top=1).to_dict()
    result = data["results"][0]
    assert result["text"] == NOTES[0].text
    assert (result["source_file"], result["line_range"]) == ("ops/release.md", "L5-L9")
    assert result["heading_path"] == ["# Release", "## Deploy"]
    assert result["source_path"] == "/notes/ops/release.md"
    assert result["metadata"] == {
        "title": "Release", "scope": "dev", "tags": "ops,ci", "author": "Li,王",
        "date": "2024-05-01",
    }  # fmt: skip
    assert (data["kb"], data["index"]["generation"]) == (index.name, 1)
    assert data["query"] == "deploy the service"


def test_several_roots_name_files_with_their_label(folder: Path) -> None:
    """Two roots may hold files of one name; ids do not change with it."""
    roots = (ROOT, Root("/srv/team", "work"))
    records = [record(1, "fish", path="a.md"), record(2, "fish", path="a.md", root="work")]
    publish_records(folder, records, roots=roots)
    data = ask(folder, "fish", mode="fts").to_dict()
    assert [(result["source_file"], result["source_path"]) for result in data["results"]] == [
        ("notes/a.md", "/notes/a.md"),
        ("work/a.md", "/srv/team/a.md"),
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"scope": "dev"}, {1, 2, 5}),
        ({"scope": "none"}, set()),
        ({"tags": ("ops",)}, {1}),
        ({"tags": ("ops", "x")}, set()),
        ({"tags": ("it's",)}, {5}),
        ({"author": "Li"}, {1, 4}),
        ({"after": "2023-01-01"}, {1, 3}),
        ({"after": "2024-01-01", "scope": "dev"}, {1}),
    ],
    ids=repr,
)
def test_filters_hold_in_every_mode(
    index: Path, mode: str, filters: dict[str, Any], expected: set[int]
) -> None:
    """What is not asked for is never shown; vectors find all that may be."""
    answer = ask(index, "deploy release 猫 部署", mode=mode, top=50, **filters)
    assert set(found(answer)) == expected if mode != "fts" else set(found(answer)) <= expected
    assert answer.mode == mode


@pytest.mark.parametrize("mode", MODES)
def test_a_filtered_search_is_not_starved(folder: Path, mode: str) -> None:
    """Sixty notes that outrank the fifteen wanted ones must not take their places."""
    drop = [record(n, "gamma " * 8, tags=("drop",)) for n in range(60)]
    keep = [record(100 + n, f"gamma and other words {n}", tags=("keep",)) for n in range(15)]
    publish_records(folder, [*drop, *keep])
    answer = ask(folder, "gamma gamma", mode=mode, top=10, tags=("keep",))
    assert len(answer.results) == 10
    assert all(result.record.tags == ("keep",) for result in answer.results)


def test_hybrid_says_what_each_retriever_said(index: Path) -> None:
    """Signals compare between queries, which the fused score does not."""
    answer = ask(index, "deploy the service", mode="hybrid", top=50)
    first = answer.results[0].signals
    assert first["ranks"] == {"vector": 1, "words": 1, "grams": 1}
    assert answer.results[0].score == pytest.approx(1.0)
    vector = ask(index, "deploy the service", mode="vector", top=1).results[0]
    assert first["cosine"] == vector.signals["cosine"] == round(vector.score, 6)
    assert 0 < first["bm25"] <= 1
    by_vector_alone = [r.signals for r in answer.results if set(r.signals["ranks"]) == {"vector"}]
    assert by_vector_alone
    assert all("bm25" not in signals and "cosine" in signals for signals in by_vector_alone)


def test_text_only_hits_are_part_of_hybrid(folder: Path) -> None:
    """A rare word is found by full text even where the vectors see fifty nearer notes."""
    near = [record(n, "deploy deploy service") for n in range(60)]
    publish_records(folder, [*near, record(99, "zzz quokka yyy xxx www vvv uuu")])
    result = next(
        result
        for result in ask(folder, "deploy service quokka", top=50).results
        if result.record.chunk_id.endswith("63")
    )
    assert "cosine" not in result.signals
    assert set(result.signals["ranks"]) == {"words", "grams"}


def test_the_fusion_of_the_configuration_is_used(index: Path) -> None:
    """Without weight, vectors find and do not rank."""
    settings = FusionSettings(weights={"vector": 0.0, "words": 1.0, "grams": 1.0})
    answer = ask(index, "release", SearchContext(load_model=same, fusion=settings), top=50)
    scores = {int(r.record.chunk_id, 16): r.score for r in answer.results}
    assert {number for number, score in scores.items() if score > 0} == {1, 2}


def test_a_cosine_below_zero_is_shown_as_zero(folder: Path) -> None:
    """Scores go from 0 to 1; the signal keeps the truth."""

    class Opposite(HashEmbedder):
        def embed_query(self, text: str) -> Any:
            return -super().embed_query(text)

    publish_records(folder, [record(1, "fish")])
    context = SearchContext(load_model=lambda _: Opposite(DIMENSION))
    result = ask(folder, "fish", context, mode="vector").results[0]
    assert result.score == 0.0
    assert result.signals["cosine"] == pytest.approx(-1.0)


class TestPreferredScope:
    """A preset's scope is a preference, --scope is strict."""

    def test_a_preset_searches_its_scope_where_there_is_one(self, index: Path) -> None:
        """Coding asks for dev notes, and gets only those."""
        answer = ask(index, "deploy 部署 猫", preset="coding", top=50)
        assert set(found(answer)) == {1, 2, 5}
        assert (answer.preset, answer.warnings) == ("coding", ())

    def test_without_documents_of_the_scope_all_are_searched_and_it_is_said(
        self, folder: Path
    ) -> None:
        """Nobody has to set scopes for a preset to work."""
        publish_records(folder, [record(1, "deploy"), record(2, "deploy", scope="ops")])
        answer = ask(folder, "deploy", preset="coding")
        assert set(found(answer)) == {1, 2}
        assert "dev" in answer.warnings[0]
        assert ask(folder, "deploy", preset="coding", scope="ops").warnings == ()

    def test_a_scope_by_flag_is_strict(self, index: Path) -> None:
        """No document of it: nothing, and a warning says which filter was in force."""
        answer = ask(index, "deploy", preset="coding", scope="nowhere")
        assert answer.results == ()
        assert len(answer.warnings) == 1
        assert "'nowhere'" in answer.warnings[0]
        assert "dev, ops" in answer.warnings[0]


class TestMissingModel:
    """Without the model full text answers, unless vectors were asked for by name."""

    @pytest.mark.parametrize("preset", [None, "coding", "qa"])
    def test_a_preset_or_default_falls_back_and_says_so(
        self, index: Path, preset: str | None
    ) -> None:
        """The mode is the one really used; the warning says why."""
        answer = ask(index, "deploy", SearchContext(load_model=missing), preset=preset)
        assert answer.mode == "fts"
        assert 1 in found(answer)
        assert "The model fake is not there. Get it." in answer.warnings[0]

    @pytest.mark.parametrize("mode", ["vector", "hybrid"])
    def test_a_mode_by_flag_is_an_error(self, index: Path, mode: str) -> None:
        """Who asked for vectors must not get something else."""
        with pytest.raises(ModelUnavailableError):
            ask(index, "deploy", SearchContext(load_model=missing), mode=mode)

    def test_a_missing_package_is_like_a_missing_model(self, index: Path) -> None:
        """Searching goes on where onnxruntime is not installed."""

        def fail(_: ModelIdentity) -> Embedder:
            raise DependencyMissingError("onnxruntime is missing.")

        assert ask(index, "deploy", SearchContext(load_model=fail)).mode == "fts"
        with pytest.raises(DependencyMissingError):
            ask(index, "deploy", SearchContext(load_model=fail), mode="hybrid")

    @pytest.mark.parametrize("asked", [{}, {"preset": "qa"}, {"mode": "hybrid"}])
    def test_another_model_is_always_an_error(self, index: Path, asked: dict[str, str]) -> None:
        """Its vectors mean something else; no mode may hide that."""

        def other(manifest: Manifest) -> Embedder:
            loaded = HashEmbedder(DIMENSION, weights="other")
            check_same_model(manifest.model, loaded.identity)
            return loaded

        with pytest.raises(ModelMismatchError, match="other"):
            ask(index, "deploy", SearchContext(load_model=other), **asked)

    @pytest.mark.parametrize("asked", [{"mode": "fts"}, {"preset": "fast"}])
    def test_full_text_never_loads_the_model(self, index: Path, asked: dict[str, str]) -> None:
        """That is what makes it fast."""

        def forbidden(_: Manifest) -> Embedder:
            raise AssertionError("the model was loaded")

        answer = ask(index, "deploy", SearchContext(load_model=forbidden), **asked)
        assert (answer.mode, answer.warnings) == ("fts", ())

    def test_the_index_names_the_model_that_is_loaded(
        self, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By default it is loaded by that name, and compared."""
        asked: list[str | None] = []

        def load(model: str | None = None, *_: Any, download: bool = True) -> Embedder:
            assert not download, "a search uses no network"
            asked.append(model)
            return HashEmbedder(DIMENSION, weights="x" if len(asked) > 1 else "fake-weights")

        monkeypatch.setattr(registry, "load_embedder", load)
        manifest = open_snapshot(index).manifest
        assert load_for_index(manifest).identity == EMBEDDER.identity
        with pytest.raises(ModelMismatchError):
            load_for_index(manifest)
        assert asked == ["fake", "fake"]

    def test_a_model_without_a_graph_is_run_by_what_built_the_index(
        self, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else such an index could be built, and never searched by vectors."""
        engines: list[str] = []

        def load(_: str | None, engine: str, *, download: bool) -> Embedder:
            engines.append(engine)
            if engine == "onnx":
                raise ModelUnavailableError("There is no graph.")
            return EMBEDDER

        monkeypatch.setattr(registry, "load_embedder", load)
        manifest = open_snapshot(index).manifest
        built = replace(manifest, engine="sentence-transformers")
        assert load_for_index(built) is EMBEDDER
        assert engines == ["onnx", "sentence-transformers"]
        with pytest.raises(ModelUnavailableError, match="no graph"):
            load_for_index(replace(manifest, engine="onnx"))


class TestReplacedWhileSearching:
    """A search that lost its generation to a newer one searches that; it does not give up."""

    def open_old_first(self, folder: Path, old: Snapshot) -> SearchContext:
        """Return a context that opens the old generation, then what is published."""
        pending = [old]

        def open_index(path: Path) -> Snapshot:
            return pending.pop() if pending else open_snapshot(path)

        return SearchContext(open_index=open_index, load_model=same)

    @pytest.mark.parametrize(
        "asked", [{}, {"preset": "qa"}, {"mode": "hybrid"}, {"mode": "vector"}]
    )
    def test_vectors_that_have_gone_are_looked_for_in_the_newer_generation(
        self, folder: Path, asked: dict[str, str]
    ) -> None:
        """An index built long ago loses its table's version as soon as the next is published."""
        publish_records(folder, [record(1, "fish")])
        old = open_snapshot(folder)
        remove_folder(folder / "knowledge_chunks.lance")
        new = publish_records(folder, [record(2, "fish")])
        old.manifest = replace(old.manifest, table_version=99)
        answer = ask(folder, "fish", self.open_old_first(folder, old), **asked)
        assert answer.manifest == new
        assert found(answer) == [2]
        assert answer.mode == asked.get("mode", "hybrid")
        assert answer.warnings == ()

    def test_damage_that_stays_is_an_error_by_name_and_a_warning_by_default(
        self, folder: Path
    ) -> None:
        """Nothing newer is published: trying again for ever would hang."""
        publish_records(folder, [record(1, "fish")])
        remove_folder(folder / "knowledge_chunks.lance")
        with pytest.raises(IndexDamagedError):
            ask(folder, "fish", mode="hybrid")
        answer = ask(folder, "fish")
        assert (answer.mode, found(answer)) == ("fts", [1])
        assert "--full" in answer.warnings[0]

    def test_vectors_without_text_are_damage(self, folder: Path) -> None:
        """An answer must not leave out, without a word, what it cannot show."""
        publish_records(folder, [record(1, "fish")])
        manifest = publish_records(folder / "other", [record(2, "fish")])
        remove_folder(folder / "fulltext")
        shutil.move(folder / "other" / "fulltext", folder / "fulltext")
        remove_folder(folder / "other")
        published = open_snapshot(folder).manifest
        assert published.fulltext == manifest.fulltext
        with pytest.raises(IndexDamagedError, match="without text"):
            ask(folder, "fish", mode="vector")

    def test_an_index_removed_while_searching_is_no_index(self, folder: Path) -> None:
        """Exit code 3, not a story about damage."""
        publish_records(folder, [record(1, "fish")])
        old = open_snapshot(folder)
        remove_folder(folder)
        with pytest.raises(NoIndexError):
            ask(folder, "fish", self.open_old_first(folder, old), mode="vector")


def test_no_index_is_an_error_of_its_own(folder: Path) -> None:
    """Exit code 3; the index is not made by asking."""
    with pytest.raises(NoIndexError):
        ask(folder / "none", "fish")
    assert not (folder / "none").exists()


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_index_answers_with_nothing(folder: Path, mode: str) -> None:
    """Exit code 0: no result is an answer."""
    publish_records(folder, [])
    assert ask(folder, "fish", mode=mode).results == ()


def test_a_query_without_words_says_that_full_text_cannot_look_for_it(index: Path) -> None:
    """Else an agent takes the empty answer for "no notes about it"."""
    answer = ask(index, "。，！", mode="fts")
    assert answer.results == ()
    assert len(answer.warnings) == 1
    hybrid = ask(index, '"?!', mode="hybrid")
    assert len(hybrid.warnings) == 1


@pytest.mark.parametrize(
    "query", ["a\x00b", "😀", "\ufeff", "' OR 1=1 --", "\\", "x" * 32768, "猫 " * 8000, "\u202e"]
)
@pytest.mark.parametrize("mode", MODES)
def test_any_query_has_an_answer(index: Path, mode: str, query: str) -> None:
    """A query is data in every mode, and comes back in the answer as it was."""
    assert ask(index, query, mode=mode).query == query


def test_the_age_is_told_and_never_below_zero(folder: Path) -> None:
    """A clock that was set back must not break the schema."""
    manifest = publish_records(folder, [record(1, "fish")])
    for created, expected in (
        ("2999-01-01T00:00:00+00:00", 0),
        ("2000-01-01T00:00:00+08:00", 10**8),
    ):
        write_manifest(folder, replace(manifest, created=created))
        assert ask(folder, "fish", mode="fts").age_s >= expected


def test_an_error_is_an_object_that_keeps_the_contract() -> None:
    """On stderr, with the query where it is known."""
    error = NoIndexError("There is no index.", "Build one.")
    data = error_to_dict(error, "q 猫")
    assert check_error(json.dumps(data))["error"] == "There is no index. Build one."
    assert data["query"] == "q 猫"
    assert "query" not in error_to_dict(error)


def test_the_default_context_opens_what_is_published() -> None:
    """The command line uses it as it is."""
    assert SearchContext().open_index is engine.open_snapshot
    assert SearchContext().load_model is load_for_index
