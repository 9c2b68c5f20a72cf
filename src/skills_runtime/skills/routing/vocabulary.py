"""Stop words, abbreviations, synonyms, related words and Chinese translations.

Tables about English and software work; they name no skill, so they also help with unknown skills.
"""

STOP_WORDS = frozenset(
    """
    a an the and or but if then else of to in on at by for from with without into onto over under about as is are was
    were be been being am do does did done has have had having i you he she it we they me him her us them my your his
    its our their mine this that these those there here what which who whom whose when where why how can could would
    should will shall may might must not no nor so than too very just also only any all some each every both either
    such own same other another more most much many few less least up down out off again once ever never always please
    help want wanted wants need needs needed like let lets make sure use used uses using usage user users skill skills
    task tasks tool whenever asks ask asked mention mentions mentioned say says said via per etc eg ie im ive dont
    doesnt isnt cant wont didnt id ill thing things something anything someone get gets got give given able way good
    best better new one two three first last okay ok hey hi hello thanks well really right now currently based include
    includes including provide provides provided support supports supporting across various work works working specific
    comprehensive expert guide handle handles cover covers
    """.split()  # noqa: SIM905 - many words read best as a text
)
"""Words too common in requests and descriptions to distinguish them."""

STOP_PAIRS = frozenset(
    """
    帮我 我要 我想 想要 这个 那个 一个 一下 怎么 如何 可以 需要 请帮 给我
    什么 使用 用于 进行 用户 当用 我的 我们 一份 时使 以及
    """.split()  # noqa: SIM905 - as above
)
"""Chinese character pairs too common to distinguish texts."""

SAME = {
    word: canonical
    for canonical, words in {
        "javascript": "js", "typescript": "ts", "kubernetes": "k8s kube", "go": "golang", "python": "py",
        "postgresql": "postgres psql pg", "database": "db dbs", "documentation": "doc docs", "repository": "repo repos",
        "authentication": "auth authn", "llm": "llms", "accessibility": "a11y", "internationalization": "i18n",
        "localization": "l10n", "observability": "o11y", "environment": "env", "configuration": "config cfg conf",
        "specification": "spec specs", "performance": "perf", "terraform": "tf", "githubaction": "gha githubactions",
        "color": "colour", "image": "img", "video": "vid", "message": "msg", "development": "dev",
        "production": "prod", "application": "app apps", "information": "info", "administration": "admin",
        "node": "nodejs", "react": "reactjs", "vue": "vuejs", "next": "nextjs", "email": "mail", "xlsx": "xls",
        "pptx": "ppt", "site": "website", "page": "webpage", "directory": "dir", "function": "func fn",
        "machinelearning": "ml", "organization": "org", "behavior": "behaviour", "analysis": "analyse",
    }.items()
    for word in words.split()
}  # fmt: skip
"""Abbreviations and spellings, with the word they stand for."""

PHRASES = {
    "pull requests": "pr",
    "pull request": "pr",
    "machine learning": "machinelearning",
    "large language model": "llm",
    "node.js": "node",
    "next.js": "next",
    "vue.js": "vue",
    "react.js": "react",
    ".net": " dotnet",
    "github action": "githubaction",
    "ci/cd": "ci cicd",
    "continuous integration": "ci cicd",
    "google cloud": "gcp google cloud",
    "amazon web services": "aws",
    "web site": "site",
    "web-site": "site",
    "web page": "page",
    "e-mail": "email",
    "end-to-end": "e2e",
    "end to end": "e2e",
    "power point": "powerpoint",
    "to-do": "todo",
    "tl;dr": "summary",
    "c#": "csharp ",
    "c++": "cpp ",
    "model context protocol": "mcp",
}
"""Phrases and symbols that count as one word."""

SYNONYM_LINES = """
    image picture photo photograph
    spreadsheet excel xlsx workbook
    slide pptx powerpoint presentation deck slideshow
    summarize summary recap condense
    swagger openapi
    resume cv
    typo spelling misspelling
    forecast predict prediction
    survey questionnaire poll
    journey trip travel itinerary vacation
    refactor restructure
    credential secret
    vulnerability exploit
    invoice receipt
    lawsuit legal law
    movie video footage clip
    song music
    transcribe transcript transcription dictation
    translate translation
    accessibility wcag a11y blind
    outage incident downtime
    slow performance bottleneck
    competitor rival
    preprint paper manuscript
    picture illustration
    crash crashloopbackoff
    payment checkout
    meal recipe cook dinner
    meeting standup call
    bump upgrade
    logo icon
    advertise ads advertisement
    bookkeeping accounting
    finetune lora
    scrape crawl
    todo reminder
    proofread grammar
    container docker
    iac terraform
    email inbox
    chart plot
""".strip().splitlines()
"""The words of one line are synonyms."""

RELATED_LINES = """
    image picture photo photograph illustration graphic
    spreadsheet excel xlsx csv workbook sheet
    slide pptx powerpoint presentation deck keynote
    word docx
    bug error issue crash problem failure fault
    debug fix troubleshoot repair diagnose resolve investigate
    slow performance speed fast latency optimize accelerate
    test testing qa verify
    vulnerability security exploit pentest attack hack
    cost bill price expense spending pricing money budget cheap
    email inbox gmail imap newsletter
    chart plot graph visualization figure dashboard
    write draft author compose
    site page web homepage landing
    deploy ship release publish launch rollout
    summarize summary digest condense recap
    translate localization language english french german spanish italian japanese korean chinese portuguese russian
    transcribe transcription speech voice audio dictation
    video movie clip footage animation film
    music song audio sound playlist
    schedule calendar meeting appointment cron
    reminder todo remind
    search find lookup query discover
    scrape crawl extract fetch download
    refactor restructure cleanup simplify rewrite
    review critique feedback audit inspect check
    competitor rival competition competitive
    customer client buyer
    payment checkout stripe invoice billing subscription
    contract agreement legal law clause
    privacy gdpr consent personal
    container docker
    kubernetes helm cluster pod
    infrastructure terraform iac provision cloud
    monitor observability metrics alert telemetry logging
    outage incident postmortem downtime
    database sql postgresql mysql schema
    migrate migration upgrade port
    login authentication oauth sso signin password session jwt
    secret credential password key vault token
    chatbot assistant conversational bot
    agent multiagent orchestrate subagent
    embedding vector semantic rag retrieval
    finetune lora train training
    gpu cuda accelerator
    paper article literature publication preprint journal manuscript study
    citation reference bibliography bibtex
    drug medicine compound molecule pharma chemical
    gene genome genomic dna sequence sequencing rna variant
    patient clinical medical hospital health
    diagram flowchart architecture drawing sketch
    ui interface frontend ux layout
    style theme css color font typography brand
    mobile ios android
    ios swift swiftui iphone ipad xcode apple macos
    android kotlin jetpack
    game gameplay unity godot
    job resume cv career interview hiring recruit
    blog post article content
    social twitter linkedin tiktok instagram post thread
    marketing campaign promotion advertise ads
    seo ranking keyword
    conversion convert funnel cro
    signup registration register onboarding
    experiment abtest hypothesis
    analytics tracking event measure metric
    forecast predict prediction timeseries
    statistics regression bayesian inference
    specification requirement prd story
    plan roadmap strategy planning
    idea brainstorm ideation concept
    note memo notebook
    knowledge memory remember
    pdf document form
    compress shrink smaller reduce size
    merge combine join concatenate
    split divide separate
    git commit branch worktree merge
    pr merge review
    changelog release version notes
    dependency package library upgrade
    shell bash terminal command cli
    script automate automation workflow
    api endpoint rest http
    webhook event callback
    cache caching redis
    queue message kafka broker
    concurrency thread async parallel race deadlock
    memory leak ram gigabyte
    microservice service distributed
    encrypt crypto cryptography
    blockchain smartcontract solidity web3 nft ethereum
    ecommerce shop shopify store product
    travel flight hotel trip
    recipe food cook meal
    weather rain forecast temperature
    finance stock investment trading portfolio
    tax accounting invoice bookkeeping
    teach learn tutorial explain course lesson
    map location place geo gis spatial
    browser playwright puppeteer selenium click screenshot
    typo grammar proofread edit
    humanize rewrite tone
    logo icon brand
    poster flyer banner
""".strip().splitlines()
"""The words of one line are related; they count less than the word itself."""

_TRANSLATION_PAIRS = """
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
    chinese: tuple(english.split(","))
    for chinese, _, english in (pair.partition("=") for pair in _TRANSLATION_PAIRS.split())
}
"""Chinese words, with the English words that descriptions use."""

TRADITIONAL = str.maketrans(
    "幫寫譯總結圖錄聲視頻檔數據庫證測試優異網頁瀏覽螢繪設計規劃劇說話報論獻歷職麼這個點擊開發應電腦資訊專業務"
    "單價費稅營銷廣競爭產戶註冊轉換縮讀組織變遷環態監鏡層級構導題藝術動畫遊戲機類問學習講師課檢審閱",
    "帮写译总结图录声视频档数据库证测试优异网页浏览荧绘设计规划剧说话报论献历职么这个点击开发应电脑资讯专业务"
    "单价费税营销广竞争产户注册转换缩读组织变迁环态监镜层级构导题艺术动画游戏机类问学习讲师课检审阅",
)
"""The most common traditional characters, with the simplified ones."""
