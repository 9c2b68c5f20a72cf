"""Words that say nothing, words that are one word, and words that often stand for each other.

Plain tables about English and about the trade; they name no skill, so they help with skills nobody has seen yet.
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
"""Words that stand in every request and in every description, and tell none from another."""

STOP_PAIRS = frozenset(
    """
    帮我 我要 我想 想要 这个 那个 一个 一下 怎么 如何 可以 需要 请帮 给我
    什么 使用 用于 进行 用户 当用 我的 我们 一份 时使 以及
    """.split()  # noqa: SIM905 - as above
)
"""The same for pairs of Chinese characters."""

SAME = {
    word: one
    for one, words in {
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
"""Abbreviations and spellings, and the word they are."""

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
"""Several words, or signs, that are one word."""

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
"""Words of one line mean nearly the same."""

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
"""Words of one line are often used where another of them is meant; they count less than the word itself."""
