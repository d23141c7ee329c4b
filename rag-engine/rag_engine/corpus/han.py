"""How running Chinese looks, to tell GB18030 from other bytes that decode as if they were."""

from __future__ import annotations

# The 800 most frequent characters of Wikipedia paragraphs (CMRC 2018) and of a programming
# handbook, weighted alike: 82 % and 97 % of their characters. Of the 3,755 common characters
# that wrong bytes may hit, these are a fifth.
COMMON_HAN = frozenset(
    "一万三上下不与专且世业东两个中串为主举么义之乐九也习书了争事二于互五亚些交亦产京亲人什仅"
    "今仍从他代令以们件价任份伊优会传伯似但位低体何余佛作你使例供依侦侧便保信修候值假做停像允"
    "元先光克免入全八公六兰共关兴其具内册再写军冠决况准几出击函分切划列则创初利别到制前剧副力"
    "办功加务动助包化北匹区医十升半华协单南博卡卫印即厂历原去县参又及双反发取受变口古另只叫可"
    "台史号司各合吉同名后向否含听启吴呈告员周味命和品响哥哪商嘉器四回因团园围国图圣在地场均块"
    "型城域基堂塞境增士声处备复外多够大天太夫失头奇奖套奥女好如始委威子字存孙季学它安完宗官定"
    "实客家容密富对导封射将小少尔尝就尼尽尾局层居展属山岛岩岸嵌州工己已巴市布师希帝带帮常干平"
    "年并广序库应底府度座康建开异式引张强当录形影往很律得德心必志快念态性总息情想意感戏成我或"
    "战户所手才打执扩承技把护报拉拟择括持挂指按换据排接控推提插播操支收改放政故效教数整文料断"
    "斯新方族无日旧早时明易星是显普景暴曲更曾替最月有服望朝期未本术机杂权李村条来板极构析林枚"
    "果架某染查标树校样根格框案档桥检森槽模次欧止正此步武死殊段母每比氏民气水永求汉江沙没河治"
    "法波注洋洛洲活流测海消深添清渡温港游湖湾源演澳激火灵点然爱父片版物特状独王环现班球理瓦生"
    "用田由甲电画界留略白的皇监盖盟目直相省看真着知短石码研础确示社神福离种科积称移程究空立站"
    "章端符第等签简算管米类系素索红约级纪纳线练组细织终经绑结给统继续维缓编缩网罗置美群考者而"
    "职联肉育背能自至致般色艺节花苏若英范荐莱获营萨落著藏虽蛇行街表被装西要见观规视览角解触言"
    "警计认讨让议记许论设访证识词译试话该详语误说请读谁调象负货质费资赖赛赞起超越足跟路踪身车"
    "转软载较辑输边达过运近返还这进远连述追适选透递通速造逻道避那郡部都配里重量金钩铁银链错键"
    "镇长门问间阅队防阳阶阿附际陆限院除随隐集需露青静非面音页顶项须顿预领题额风食饰首香马验骨"
    "高鱼鳞黄黑默齿龙"
)
_PUNCTUATION = frozenset(
    "，。、；：？！“”‘’（）《》〈〉【】「」『』…—－～·￥％＋＝／　×÷°±→←①②③④⑤⑥⑦⑧⑨"
)


def is_plausible_chinese(text: str) -> bool:
    """Say whether a text that GB18030 gave reads like Chinese, and not like mojibake.

    Characters of four bytes are rare but cannot come about by chance: they count neither way,
    as long as they do not outnumber the rest.
    """
    han = common = usual = rare = strange = 0
    for character in text:
        if character < "\x80":
            continue
        if character in COMMON_HAN:
            common += 1
        if "\u4e00" <= character <= "\u9fa5":
            han += 1
        elif character in _PUNCTUATION or "\uff01" <= character <= "\uff5e":
            usual += 1
        elif len(character.encode("gb18030")) == 4:
            rare += 1
        else:
            strange += 1
    return common * 2 > han and rare <= han + usual and strange * 8 <= han + usual
