"""Classify URLs by host: known, disposable, data-collecting, paste sites and others.

Pure: hosts are recognized by name and never looked up.
"""

import re
from typing import Literal

_REGISTRIES = (
    ("pypi", "org"),
    ("npmjs", "com"),
    ("npmjs", "org"),
    ("yarnpkg", "com"),
    ("crates", "io"),
    ("rubygems", "org"),
)
KNOWN_HOSTS = frozenset(f"{name}.{top}" for name, top in _REGISTRIES) | frozenset(
    """
    astral.sh rustup.rs bun.sh bun.com deno.land deno.com docker.com helm.sh python-poetry.org brew.sh sdkman.io
    starship.rs fnm.vercel.app pnpm.io k3s.io tailscale.com ollama.com ollama.ai fly.io railway.app railway.com
    inference.sh claude.ai anthropic.com claude.com cursor.com opencode.ai foundry.paradigm.xyz getfoundry.sh
    solana.com anza.xyz nixos.org determinate.systems volta.sh mise.run jdx.dev llvm.org google.com
    googleapis.com cloud.google.com gstatic.com aka.ms microsoft.com nodesource.com pulumi.com
    awscli.amazonaws.com amazon.com getcomposer.org wasmtime.dev wasmer.io dagger.io temporal.download
    temporal.io coursier.io haskell.org julialang.org cli.github.com docs.github.com api.github.com supabase.com
    supabase.co stripe.com grafana.com modal.com runpod.io lmstudio.ai zed.dev warp.dev vercel.com vercel.app
    netlify.com cloudflare.com convex.dev tur.so turso.tech planetscale.com neon.tech neon.com hashicorp.com
    k6.io snyk.io sentry.io doppler.com infisical.com 1password.com pkgx.sh tea.xyz moonrepo.dev jetify.com
    jetpack.io atuin.sh openai.com chatgpt.com openclaw.ai clawd.bot molt.bot clawhub.ai clawhub.com
    elevenlabs.io linear.app expo.dev mobile.dev flutter.dev dart.dev swift.org golang.org go.dev python.org
    pypa.io nodejs.org rust-lang.org ruby-lang.org
    rvm.io get.rvm.io php.net perl.org r-project.org conda.io anaconda.com mambaforge.com
    micro.mamba.pm debian.org ubuntu.com alpinelinux.org fedoraproject.org archlinux.org kernel.org apache.org
    gnu.org mozilla.org apple.com oracle.com jetbrains.com gradle.org maven.org android.com kubernetes.io k8s.io
    istio.io linkerd.io argoproj.io fluxcd.io cncf.io rancher.com minikube.sigs.k8s.io kind.sigs.k8s.io redis.io
    postgresql.org mysql.com mongodb.com elastic.co clickhouse.com duckdb.org sqlite.org influxdata.com
    timescale.com cockroachlabs.com databricks.com snowflake.com dbt.com getdbt.com prefect.io dagster.io
    airbyte.com huggingface.co hf.co pytorch.org tensorflow.org nvidia.com intel.com amd.com replicate.com
    together.ai groq.com mistral.ai cohere.com deepseek.com perplexity.ai x.ai openrouter.ai fal.ai fal.run
    stability.ai gitlab.com bitbucket.org atlassian.com slack.com notion.com notion.so figma.com airtable.com
    zapier.com twilio.com sendgrid.com mailgun.com mailchimp.com hubspot.com salesforce.com zoom.us shopify.com
    paypal.com square.com plaid.com coinbase.com binance.com kraken.com etherscan.io infura.io alchemy.com
    helius.xyz quicknode.com polymarket.com kalshi.com coingecko.com yahoo.com alphavantage.co polygon.io
    tradingview.com heroku.com digitalocean.com linode.com vultr.com render.com hetzner.com scaleway.com ovh.com
    azure.com amazonaws.com azurewebsites.net windows.net firebase.com firebaseio.com datadoghq.com newrelic.com
    pagerduty.com opsgenie.com circleci.com travis-ci.com buildkite.com codecov.io sonarqube.org sonarsource.com
    sonarcloud.io semgrep.dev trufflesecurity.com letsencrypt.org get.acme.sh acme.sh certbot.eff.org w3.org
    ietf.org wikipedia.org arxiv.org doi.org crossref.org ncbi.nlm.nih.gov nih.gov ebi.ac.uk uniprot.org
    rcsb.org ensembl.org youtube.com twitter.com x.com reddit.com linkedin.com facebook.com instagram.com
    tiktok.com spotify.com telegram.org discord.com whatsapp.com wikimedia.org openstreetmap.org mapbox.com
    open-meteo.com openweathermap.org weather.gov wttr.in ipify.org ifconfig.me ipinfo.io icanhazip.com
    httpbin.org jsonplaceholder.typicode.com schema.org jsdelivr.net unpkg.com cdnjs.com esm.sh skypack.dev
    fonts.bunny.net tavily.com exa.ai firecrawl.dev serpapi.com brave.com duckduckgo.com bing.com jina.ai
    apify.com browserbase.com composio.dev smithery.ai mcp.so modelcontextprotocol.io agentskills.io skills.sh
    risczero.com succinct.xyz aptos.dev sui.io near.org dfinity.org internetcomputer.org starknet.io starkup.sh
    dojoengine.org noir-lang.org noirup.dev aztec.network lens.xyz chain.link tenderly.co moralis.io
    thirdweb.com privy.io getgrit.io commandcode.ai ampcode.com sourcegraph.com factory.ai devin.ai continue.dev
    augmentcode.com codeium.com windsurf.com kiro.dev qwen.ai aliyun.com aliyuncs.com volces.com bytedance.com
    feishu.cn larksuite.com dingtalk.com weixin.qq.com qq.com tencent.com baidu.com bilibili.com zhihu.com
    chocolatey.org scoop.sh get.scoop.sh minimax.io minimaxi.com moonshot.cn bigmodel.cn gitee.com         """.split()  # noqa: SIM905 - one word a host reads better than a list of quoted ones
)
"""Hosts with a known owner; subdomains count too."""

INSTALLER_OWNERS = frozenset(
    """
    homebrew nvm-sh astral-sh ohmyzsh pyenv pyenv-win helm golangci aquasecurity anchore gitleaks rhysd denoland
    oven-sh rustup rust-lang junegunn direnv ajeetdsouza jesseduffield charmbracelet cli actions microsoft
    google googlecloudplatform aws awslabs azure hashicorp docker kubernetes kubernetes-sigs k3d-io k3s-io
    rancher istio argoproj fluxcd vercel vercel-labs anthropics openai openclaw steipete block all-hands-ai
    supabase stripe cloudflare netlify getsentry grafana prometheus redis postgres elastic clickhouse duckdb
    huggingface pytorch tensorflow nvidia intel ggml-org ggerganov ollama sst opencode-ai charm facebook meta
    facebookresearch react-native-community expo flutter dart-lang apple swiftlang jetbrains gradle apache
    python pypa psf pallets tiangolo encode python-poetry pdm-project conda-forge conda mamba-org nodejs npm
    pnpm yarnpkg typescript-eslint eslint prettier vitejs vuejs sveltejs angular withastro remix-run nrwl lerna
    golang gohugoio spf13 ruby rbenv rvm rails laravel composer php symfony asdf-vm jdx mise-plugins sdkman
    neovim vim zsh-users romkatv starship tmux-plugins git git-lfs github gitlab-org gitlabhq bitnami traefik
    caddyserver nginx certbot acmesh-official trufflesecurity semgrep returntocorp snyk projectdiscovery owasp
    zaproxy sqlmapproject metasploit danielmiessler rapid7 foundry-rs paradigmxyz openzeppelin ethereum crytic
    trailofbits solana-labs anza-xyz coral-xyz near aptos-labs mystenlabs obra wshobson affaan-m
    modelcontextprotocol cline continuedev aider-ai langchain-ai run-llama pydantic browser-use playwright
    puppeteer seleniumhq cypress-io storybookjs tailwindlabs shadcn-ui radix-ui yt-dlp ytdl-org ffmpeg
    imagemagick jgm pandoc quarto-dev rstudio r-lib typst latex3 bioconda nextflow-io broadinstitute samtools
    galaxyproject snakemake dracula catppuccin nixos nix-community determinatesystems cachix jetify-com
    devcontainers containers podman buildpacks
    """.split()  # noqa: SIM905 - one word a host reads better than a list of quoted ones
)
"""Owners of repositories whose installers are known."""

PASTES = frozenset(
    """
    pastebin.com paste.ee hastebin.com rentry.co rentry.org glot.io dpaste.org dpaste.com ghostbin.com
    controlc.com paste.rs paste.gg privatebin.net 0bin.net ideone.com justpaste.it telegra.ph pastes.dev
    snippet.host gist.github.com gist.githubusercontent.com paste.mozilla.org termbin.com ix.io sprunge.us
    bpa.st pst.klgrth.io cl1p.net textbin.net codeshare.io jsfiddle.net notes.io pastelink.net write.as
    paste2.org dumpz.org bin.sh katbin.com anonfiles.com gofile.io mediafire.com mega.nz dropmefiles.com
    wetransfer.com transfer.sh file.io 0x0.st temp.sh catbox.moe litterbox.catbox.moe bashupload.com oshi.at
    tmpfiles.org filebin.net uguu.se sendspace.com zippyshare.com cdn.discordapp.com media.discordapp.net
    """.split()  # noqa: SIM905 - one word a host reads better than a list of quoted ones
)
"""Sites where anyone can publish text or files."""

COLLECTORS = frozenset(
    """
    webhook.site requestbin.com requestbin.net pipedream.net requestcatcher.com hookbin.com beeceptor.com
    oast.fun oast.pro oast.live oast.site oast.online oast.me interact.sh interactsh.com burpcollaborator.net
    oastify.com dnslog.cn ceye.io canarytokens.com canarytokens.org mockbin.org mockbin.io postb.in ptsv2.com
    ptsv3.com hookdeck.com webhookinbox.com smee.io putsreq.com request.bin typedwebhook.tools
    bin.webhookrelay.com formspree.io getform.io
    """.split()  # noqa: SIM905 - one word a host reads better than a list of quoted ones
)
"""Services that record the requests sent to them."""

SHORTENERS = frozenset(
    """
    bit.ly tinyurl.com goo.gl is.gd v.gd ow.ly buff.ly rebrand.ly cutt.ly shorturl.at rb.gy tiny.cc t.ly s.id
    bl.ink soo.gd clck.ru u.to surl.li shrtco.de 1drv.ms adf.ly
    """.split()  # noqa: SIM905 - one word a host reads better than a list of quoted ones
)
TUNNELS = frozenset(
    """
    ngrok.io ngrok.app ngrok-free.app ngrok-free.dev trycloudflare.com loca.lt localtunnel.me serveo.net
    localhost.run lhr.life tunnelto.dev bore.pub pagekite.me playit.gg telebit.cloud duckdns.org no-ip.org
    ddns.net hopto.org zapto.org sytes.net onion onion.ws
    """.split()  # noqa: SIM905 - one word a host reads better than a list of quoted ones
)

PLACEHOLDERS = (
    "example.com", "example.org", "example.net", ".example", ".test", ".invalid", "domain.com", "mydomain.com",
    "mysite.com", "myapp.com", "company.com", "yourcompany.com", "yourdomain.com", "acme.com", "foo.com", "bar.com",
    "site.com", "website.com", "host.com", "server.com", "my-app.com",
)  # fmt: skip


HostKind = Literal["known", "placeholder", "local", "paste", "collector", "disposable", "unknown"]

URL = re.compile(
    (
        r"(?P<scheme>https?|ftp)://(?P<host>[^\s/\\?#\"'`<>()\[\]{}|,;:@]{1,253})(?::(?P<port>\d{1,5})"
        r")?(?P<path>[^\s\"'`<>|)\]}]{0,300})"
    ),
    re.I,
)
_ADDRESS = re.compile(r"^(?:\d{1,3}\.){3}\d{1,3}$|^0x[0-9a-f]{8}$|^\d{8,10}$", re.I)
_PRIVATE = re.compile(r"^(?:127\.|10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|0\.0\.0\.0|100\.64\.)")
_DOCUMENTATION = re.compile(r"^(?:192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|1\.2\.3\.4$|8\.8\.|1\.1\.1\.)")
_LOCAL = re.compile(r"^(?:localhost|host\.docker\.internal|[^.]+|.*\.(?:local|internal|localhost|lan|svc))$", re.I)
_CHEAP = re.compile(r"\.(?:tk|ml|ga|cf|gq|top|xyz|buzz|click|icu|rest|cam|monster|zip|mov|cyou|sbs|pw|su)$", re.I)
_HOSTILE = re.compile(
    r"(?:^|[.-])(?:evil|attackers?|exfil\w*|steal\w*|malware|malicious"
    r"|c2|hacker|keylog\w*|phish\w*)(?=[.-])"
)
"""Host labels that stand for an attacker, including those in examples."""
_WORD = re.compile(r"[a-z0-9]+")


def _parse_host(url: str) -> str:
    """Return the lower-case host of a URL, or an empty string."""
    match = URL.search(url)
    return match["host"].lower().rstrip(".") if match else ""


def classify_host(url: str) -> HostKind:
    """Classify the host of a URL."""
    match = URL.search(url)
    if match is None:
        return "unknown"
    host, path = match["host"].lower().rstrip("."), match["path"] or ""
    if _ADDRESS.match(host):
        return _classify_address(host)
    if _HOSTILE.search(host):
        return "disposable"
    if host.endswith(PLACEHOLDERS) or "$" in host or "<" in host or "your" in host:
        return "placeholder"
    if _LOCAL.match(host):
        return "local"
    if _is_subdomain(host, PASTES) or (host == "raw.githubusercontent.com" and path.startswith("/gist/")):
        return "paste"
    if _is_collector(host, path):
        return "collector"
    if _is_subdomain(host, SHORTENERS) or _is_subdomain(host, TUNNELS):
        return "disposable"
    return _classify_name(host, path)


def is_untrusted_host(url: str) -> bool:
    """Return whether the host is a paste site, a data collector or disposable."""
    return classify_host(url) in ("paste", "collector", "disposable")


def has_cheap_tld(url: str) -> bool:
    """Return whether the host has a cheap top-level domain."""
    return bool(_CHEAP.search(_parse_host(url)))


def is_related(url: str, words: frozenset[str]) -> bool:
    """Return whether the host or repository owner shares a word with the skill's name or description."""
    match = URL.search(url)
    if match is None:
        return False
    host, path = match["host"].lower(), (match["path"] or "").lower()
    if host.endswith(("github.com", "githubusercontent.com", "gitlab.com", "github.io")):
        parts = [part for part in path.split("/") if part]
        owner_text = " ".join(parts[:2]) + " " + host.removesuffix(".github.io")
    else:
        labels = host.split(".")
        owner_text = " ".join(labels[-3:-1] if len(labels) > 2 else labels[:1])
    long_words = [word for word in words if len(word) > 4 and word not in _COMMON]
    return any(
        part in words or any(word in part for word in long_words)
        for part in _WORD.findall(owner_text)
        if len(part) >= 3 and part not in _COMMON
    )


_COMMON = frozenset(
    """
    github com raw www api app dev cli get install download tools tool agent agents skill skills openclaw
    clawdbot helper the and for use with data file files code user users web page html https http net org main
    master setup claude project release releases latest script scripts when using from this that your into via
    manage
    """.split()  # noqa: SIM905 - a list of quoted words is harder to read
)


def _classify_address(host: str) -> HostKind:
    if _PRIVATE.match(host):
        return "local"
    return "placeholder" if _DOCUMENTATION.match(host) else "disposable"


def _is_collector(host: str, path: str) -> bool:
    if _is_subdomain(host, COLLECTORS):
        return True
    hooks = host in ("discord.com", "discordapp.com") and path.startswith("/api/webhooks/")
    return hooks or (host == "api.telegram.org" and path.startswith("/bot"))


def _classify_name(host: str, path: str) -> HostKind:
    if host in ("raw.githubusercontent.com", "github.com", "gitlab.com", "codeload.github.com"):
        owner = path.strip("/").split("/")[0].lower()
        return "known" if owner in INSTALLER_OWNERS else "unknown"
    return "known" if _is_subdomain(host, KNOWN_HOSTS) else "unknown"


def _is_subdomain(host: str, names: frozenset[str]) -> bool:
    while host:
        if host in names:
            return True
        _, _, host = host.partition(".")
    return False
