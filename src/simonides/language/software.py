"""Names of programs, systems and services, which people "move to" as they do to towns.

"I moved to Neovim" says nothing about a home. Names that are also towns (Phoenix, Jupiter) are left
out, as are those that most people would take for a place.
"""

from __future__ import annotations

_NAMES = frozenset(
    """
    adobe affinity airtable alacritty alfred alpine android angular ansible anthropic apache apple
    arch arc asana astro athena atom aws azure backbone basecamp bash bazel bigquery bitbucket
    bitwarden blender bluesky bootstrap brave bubble bun canva cassandra celery centos chatgpt
    chrome chromium circleci claude clickhouse clickup clojure cloudflare cmake cobol codeberg
    colemak confluence copilot couchdb crystal css cursor cypress dart databricks datadog dbeaver
    debian delphi deno discord django docker doom drupal duckdb duckduckgo dvorak dynamodb
    eclipse elasticsearch elixir elm emacs ember erlang esbuild evernote excel express fastapi
    fastmail fedora figma firebase firefox fish flask flutter fortran gatsby gcc gcp gemini
    gentoo ghostty gimp git gitea github gitlab gmail gnome go golang google gradle grafana graphql
    hadoop haskell helix helm heroku hibernate homebrew html hugo hyprland ibm illustrator inkscape
    insomnia instagram intellij ios ipad ipados iphone java javascript jenkins jest jira jquery
    jupyterlab k8s kafka kakoune kde kde keepass kitty kotlin kubernetes laravel lastpass latex
    libreoffice linkedin linux lisp llama llvm logseq lua mac macbook macos mailchimp
    mariadb markdown mastodon matlab maven memcached mercurial meta microsoft midjourney miro
    mongo mongodb mysql nano neo4j neovim netbsd netlify newrelic nextcloud nextjs nginx nixos
    nodejs nomad notepad notion npm numpy nushell nvim nvidia obsidian ocaml office365 okta openai
    openbsd opensuse opentofu outlook pandas paypal perl perplexity php playwright podman polars
    postgres postgresql postman powershell powerpoint prettier prisma prolog prometheus protonmail
    proton pulumi puppet pycharm pytest python pytorch qwerty rails raycast react reddit redis
    redshift remix ripgrep rspec ruby rust rustdesk safari salesforce scala selenium shopify
    signal sketch slack snowflake solidjs spark splunk spotify spring sqlite stripe sublime
    subversion supabase svelte svn swift sway symfony tailscale tailwind telegram temporal
    tensorflow terraform thunderbird tmux trello twitter typescript ubuntu unity unix unreal
    usenet uv vercel vim vimium vite vscode vscodium vue webpack webstorm wezterm whatsapp windows
    wireguard wordpress workday xcode yarn youtube zed zellij zendesk zig zoom zotero zsh
    """.split()
)
# "PostgreSQL", "DuckDB", "NextJS", "NixOS": town names are not written this way.

_ENDINGS = ("SQL", "DB", "JS", "OS", "IDE", "Script")


def is_software(word: str) -> bool:
    """Whether a word, as written, names a program, system or service and not a place."""
    bare = word.strip(".,;:!?'\"()*_")
    if bare.lower() in _NAMES:
        return True
    has_small = any(map(str.islower, bare))
    return has_small and bare.endswith(_ENDINGS)
