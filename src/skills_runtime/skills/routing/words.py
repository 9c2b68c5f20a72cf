"""From text to the terms it is compared by: words without their endings, abbreviations written out, Chinese by pairs.

Pure. The same text always gives the same terms.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from skills_runtime.skills.routing.vocabulary import PHRASES, RELATED_LINES, SAME, STOP_PAIRS, STOP_WORDS, SYNONYM_LINES

_WORDS = """
    内存=memory 泄漏=leak 冲突=conflict 问卷=survey,questionnaire 排名=ranking 搜索引擎=seo,search 报销=expense
    纪要=minutes 汇报=presentation,report 销量=sales 字段=column,field 库存=inventory 文件=file
    文件夹=folder,directory 备份=backup 服务器=server 网络=network 域名=domain 邮箱=email 聊天=chat 客服=support
    培训=training 教学=teach 题目=question,quiz 考试=exam 笔记=note 日程=schedule,calendar 打印=print 爆款=viral
    封面=cover,thumbnail 标题=title,headline 直播=live,stream 配音=voiceover,speech 剪辑=edit,video
    绘画=drawing,image 插图=illustration 建模=model 仿真=simulation 算法=algorithm 编译=compile,build 报错=error
    异常=error,exception 崩溃=crash 启动=start 安装=install 卸载=uninstall 订单=order 物流=shipping 采购=procurement
    预算=budget 工资=salary,payroll 翻译=translate 总结=summarize 摘要=summary 概括=summarize 表格=spreadsheet,table
    电子表格=spreadsheet 幻灯片=slide 演示文稿=presentation,slide 简报=presentation,briefing
    文档=document,documentation 报告=report 图片=image 照片=photo 图像=image 视频=video 音频=audio 语音=speech,voice
    转录=transcribe 录音=audio,record 字幕=subtitle,caption 邮件=email 日历=calendar 会议=meeting 提醒=reminder
    待办=todo 搜索=search 查找=find 抓取=scrape 爬虫=crawl,scrape 爬取=crawl,scrape 下载=download 网页=page,web
    网站=site,web 浏览器=browser 截图=screenshot 数据库=database 查询=query 数据=data 分析=analyze
    可视化=visualization,chart 图表=chart,plot 统计=statistics 预测=forecast,predict 机器学习=machinelearning
    训练=train 模型=model 微调=finetune 向量=vector,embedding 检索=retrieval,search 知识库=knowledge 提示词=prompt
    代码=code 重构=refactor 审查=review 评审=review 调试=debug 修复=fix 测试=test 单元测试=unit,test
    性能=performance 优化=optimize 部署=deploy 发布=release,publish 容器=container,docker 镜像=image,docker
    集群=cluster,kubernetes 监控=monitor 日志=log,logging 告警=alert 故障=incident,failure 事故=incident,postmortem
    复盘=postmortem,retrospective 接口=api,interface 前端=frontend 后端=backend 界面=ui,interface 设计=design
    组件=component 样式=style,css 动画=animation 无障碍=accessibility 安全=security 漏洞=vulnerability
    渗透=pentest,penetration 攻击=attack 加密=encrypt 密码=password 密钥=key,secret 登录=login,authentication
    认证=authentication 权限=permission,access 隐私=privacy 合规=compliance 合同=contract 法律=legal 发票=invoice
    支付=payment 账单=bill,billing 订阅=subscription 成本=cost 财务=finance 股票=stock 投资=investment 税=tax
    营销=marketing 推广=promotion,marketing 文案=copywriting,copy 广告=ads,advertise 竞品=competitor
    竞争=competition 用户=user 客户=customer 产品=product 需求=requirement 规划=plan 计划=plan 路线图=roadmap
    头脑风暴=brainstorm 创意=creative,idea 写作=write,writing 撰写=write 文章=article 博客=blog 小说=novel,fiction
    润色=polish,edit,proofread 校对=proofread 论文=paper,manuscript 文献=literature 引用=citation 期刊=journal
    简历=resume 面试=interview 招聘=recruit,hiring 课程=course 教程=tutorial 学习=learn 解释=explain
    自动化=automation 工作流=workflow 脚本=script 命令行=cli,command 终端=terminal 配置=configuration
    环境=environment 依赖=dependency 版本=version 分支=branch 提交=commit 合并=merge 变更日志=changelog
    更新日志=changelog 仓库=repository 迁移=migrate 升级=upgrade 缓存=cache 队列=queue 并发=concurrency 异步=async
    微服务=microservice 架构=architecture 流程图=flowchart,diagram 思维导图=mindmap 海报=poster 图标=icon 品牌=brand
    主题=theme 字体=font 颜色=color 游戏=game 手机=mobile 移动端=mobile 安卓=android 苹果=apple,ios 天气=weather
    旅行=travel 旅游=travel 航班=flight 酒店=hotel 菜谱=recipe 食谱=recipe 健康=health 医疗=medical 药物=drug
    基因=gene 蛋白=protein 化学=chemical 地图=map 音乐=music 社交=social 公众号=wechat 小红书=xiaohongshu,rednote
    微信=wechat 抖音=douyin,tiktok 电商=ecommerce 区块链=blockchain 智能合约=smartcontract,solidity 智能体=agent
    技能=skill 压缩=compress 转换=convert 提取=extract 合同审查=contract,review 表单=form 水印=watermark
    扫描=scan,ocr 识别=recognize,ocr 排版=layout,typeset 格式化=format 国际化=internationalization
    本地化=localization 爬=scrape
"""
TRANSLATIONS = {
    chinese: tuple(english.split(",")) for chinese, _, english in (pair.partition("=") for pair in _WORDS.split())
}
"""From a Chinese word to the English ones that descriptions use."""

_ANY = re.compile("|".join(sorted(TRANSLATIONS, key=len, reverse=True)))
_TRADITIONAL = str.maketrans(
    "幫寫譯總結圖錄聲視頻檔數據庫證測試優異網頁瀏覽螢繪設計規劃劇說話報論獻歷職麼這個點擊開發應電腦資訊專業務"
    "單價費稅營銷廣競爭產戶註冊轉換縮讀組織變遷環態監鏡層級構導題藝術動畫遊戲機類問學習講師課檢審閱",
    "帮写译总结图录声视频档数据库证测试优异网页浏览荧绘设计规划剧说话报论献历职么这个点击开发应电脑资讯专业务"
    "单价费税营销广竞争产户注册转换缩读组织变迁环态监镜层级构导题艺术动画游戏机类问学习讲师课检审阅",
)


def simplified(text: str) -> str:
    """The text with the commonest traditional characters made simplified ones."""
    return text.translate(_TRADITIONAL)


def in_english(text: str) -> list[tuple[str, str]]:
    """The English words for the Chinese ones that are known, each with the Chinese one, in their order."""
    return [(english, match[0]) for match in _ANY.finditer(text) for english in TRANSLATIONS[match[0]]]


MAX_WORD_CHARS = 48
"""A longer word is no word; it counts in pieces."""

_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[A-Za-z0-9]{{1,{MAX_WORD_CHARS}}}|[{_HAN}]+|[^\W_A-Za-z0-9{_HAN}]{{1,{MAX_WORD_CHARS}}}")
_ANY_HAN = re.compile(f"[{_HAN}]")
_ACCENTED = re.compile("[\u00c0-\u024f]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_UNSPLIT = frozenset(
    [
        "JavaScript",
        "TypeScript",
        "GitHub",
        "GitLab",
        "YouTube",
        "LinkedIn",
        "PostgreSQL",
        "MySQL",
        "GraphQL",
        "DevOps",
        "WordPress",
    ]
)
_APOSTROPHES = str.maketrans("", "", "'’")
_SKIPPED = STOP_WORDS | frozenset("abdefghijklmnopqstuvwxyz0123456789")
"""Single letters say nothing, but for the names of two languages."""
_PHRASE = re.compile("|".join(re.escape(phrase) for phrase in sorted(PHRASES, key=len, reverse=True)), re.IGNORECASE)

_ENDINGS = """
    ization isation ational fulness iveness ation izing ising izer iser ized ised ize ise ating ator ated ate ically
    ment ity ing ion ied er or ive ly ed e al
""".split()  # noqa: SIM905 - many words read best as a text
_BY_LAST = {last: [one for one in _ENDINGS if one[-1] == last] for last in {one[-1] for one in _ENDINGS}}
_REPLACED = {"ational": "ate", "fulness": "ful", "iveness": "ive", "ically": "ic", "ied": "y"}
_LONGER_STEMS = frozenset(["al", "ate", "ise", "ize", "or", "ive", "ity", "er", "ion"])
"""Endings that short words have by chance."""
_DOUBLING = frozenset(["ing", "ed", "er"])
_ANALYSIS = re.compile("analy[sz]|analyt")


def terms(text: str) -> list[str]:
    """The terms of a text, in their order."""
    if not text:
        return []
    runs = _RUN.findall(plain_text(text))
    of_run = _terms_of_word if text.isascii() else _terms_of
    return [one for run in runs for one in of_run(run)]


def _terms_of(run: str) -> Sequence[str]:
    """The terms of a run of letters: none for an empty word, several for a compound."""
    return _pairs(run) if run[0] > "\u3000" else _terms_of_word(run)


def spelled(text: str) -> dict[str, str]:
    """For each term of a text, the word it came from, to be shown to somebody."""
    found: dict[str, str] = {}
    for run in _RUN.findall(plain_text(text)):
        of_run = _terms_of(run)
        for one in of_run:
            found.setdefault(one, run if len(of_run) == 1 else one)
    return found | {term(english): chinese for english, chinese in _in_english(text)}


def translated(text: str) -> list[str]:
    """The English terms for the Chinese words of a text."""
    return [term(english) for english, _ in _in_english(text)]


def _in_english(text: str) -> list[tuple[str, str]]:
    return [] if text.isascii() or not _ANY_HAN.search(text) else in_english(plain_text(text))


def plain_text(text: str) -> str:
    """The text with one spelling for what has several, and with several words for one thing put together."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = simplified(text) if _ANY_HAN.search(text) else _ACCENTED.sub(_unaccented, text)
    text = text.translate(_APOSTROPHES) if "'" in text or "’" in text else text
    small = text.lower()
    for phrase in PHRASES:  # a loop, for this is where an index of thousands of skills spends its time
        if phrase in small:
            return _PHRASE.sub(lambda match: PHRASES.get(match[0].lower(), match[0]), text)
    return text


def _unaccented(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKD", match[0]).encode("ascii", "ignore").decode() or match[0]


@lru_cache(maxsize=65_536)
def _terms_of_word(run: str) -> tuple[str, ...]:
    words = [run] if run.islower() or run in _UNSPLIT else _CAMEL.sub(" ", run).split()
    words = [run, *words] if len(words) > 1 else words
    return tuple(term(word) for word in map(str.lower, words) if word not in _SKIPPED)


def term(word: str) -> str:
    """The term that a word in small letters counts as."""
    return stem(singular(SAME.get(word) or SAME.get(singular(word), word)))


def singular(word: str) -> str:
    """The word as one of several, as far as its ending tells."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zzes")) else word[:-1]


def stem(word: str) -> str:
    """The word without its ending; other forms of the word have the same stem, as far as endings tell."""
    if len(word) < 4 or not word.isascii() or not word.isalpha() or word.endswith(("ss", "us")):
        return word
    if _ANALYSIS.match(word):
        return "analy"
    for ending in _BY_LAST.get(word[-1], ()):
        rest = len(word) - len(ending)
        if word.endswith(ending) and rest >= (4 if ending in _LONGER_STEMS else 3):
            return _evened(word[:rest] + _REPLACED.get(ending, ""), doubled=ending in _DOUBLING)
    return _evened(word, doubled=False)


def _evened(base: str, *, doubled: bool) -> str:
    """The stem as all forms of a word have it: `running` has lost an `n`, `categories` its `y`."""
    if doubled and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "sl":
        base = base[:-1]
    if base.endswith("y") and len(base) > 3:
        return base[:-1] + "i"
    return base[:-1] if base.endswith("e") and len(base) > 4 else base


def _pairs(run: str) -> list[str]:
    """A run of characters without spaces, as the pairs of neighbours in it."""
    if len(run) == 1:
        return [run]
    return [pair for pair in (run[place : place + 2] for place in range(len(run) - 1)) if pair not in STOP_PAIRS]


def _groups(lines: Sequence[str]) -> dict[str, tuple[str, ...]]:
    near: dict[str, dict[str, None]] = {}
    for line in lines:
        group = [term(word) for word in line.split()]
        for one in group:
            near.setdefault(one, {}).update(dict.fromkeys(other for other in group if other != one))
    return {one: tuple(others) for one, others in near.items()}


SYNONYMS = _groups(SYNONYM_LINES)
"""For a term, the terms that mean nearly the same."""
RELATIVES = _groups(RELATED_LINES)
"""For a term, the terms that often stand for it."""
