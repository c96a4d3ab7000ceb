"""`alita web`: alita in a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent.cli import exits, options
from agent.cli.options import opt
from agent.cli.output import print_note

if TYPE_CHECKING:
    from agent.cli.verbs.doctor import DoctorFinding
    from agent.configuration.settings import Settings

app = options.App("Serves a page for your browser.")


@app.command(
    settings=f"model agent base_url {options.LIMITS} tools_dir approval no_isolation yes allow_private no_cache"
)
def web(
    http: Annotated[str, opt("--http HOST:PORT", "Address of the page; port 0 picks a free one.")] = "127.0.0.1:7860",
    token_file: Annotated[
        Path | None, opt("--token-file FILE", "File with the token; or set ALITA_SERVE_TOKEN.")
    ] = None,
    no_token: Annotated[bool, opt("--no-token", "Require no token; only on a loopback address.")] = False,
    allow_host: Annotated[
        list[str] | None, opt("--allow-host NAME", "Host name that browsers use; may be repeated.")
    ] = None,
    **_: object,
) -> None:
    """Serves a page on which you ask questions, watch the steps and get answers and files.

    It needs the extra web-page. It prints an address with a token, which lets a browser in. Without --http, only this
    machine can reach the page. To let others in, use --http 0.0.0.0:PORT and your own token. Limits apply to each
    question.
    """
    from agent.cli.verbs.doctor import diagnose, verdict
    from agent.configuration.settings_sources import SERVE_TOKEN, read_settings
    from mcp_tools.serving.http import listen_options

    listen = listen_options(
        http,
        token=os.environ.pop(SERVE_TOKEN, ""),  # child processes must not inherit it
        token_file=token_file,
        no_token=no_token,
        host_names=tuple(allow_host or ()),
    )
    flags = options.flags()

    def read(**more: object) -> Settings:
        return read_settings({**flags, **more})

    def checked(settings: Settings) -> tuple[list[DoctorFinding], str]:
        findings = diagnose(settings)
        return findings, verdict(settings, findings)

    def listening(address: str) -> None:
        token = f"?token={listen.token}" if listen.is_new_token else ""
        print_note(f"Open {address}/{token}\nPress Ctrl-C to stop.")

    async def serve() -> None:
        from agent.page.layout import serve_page

        await serve_page(read, checked, listen, listening)

    exits.run_until_signal(serve())
