"""`alita doctor`: whether everything is there, and for each ✗ what to do about it."""

from __future__ import annotations

import typer

from agent.cli import options
from agent.cli.output import print_json, print_text

app = options.new_app("Checks that everything alita needs is there.")


@app.command()
def doctor(model: options.Model = None, base_url: options.BaseUrl = None, as_json: options.AsJson = False) -> None:
    """Checks packages, model, isolation, browser and folders; exits 0 when questions can be answered."""
    from agent.cli.setup.diagnosis import diagnose
    from agent.configuration.settings_sources import read_settings

    settings = read_settings({"model": model, "base_url": base_url})
    findings = diagnose(settings)
    lacking = [finding.name for finding in findings if finding.needed and not finding.ok]
    usable = not lacking
    if as_json:
        print_json({"ok": usable, "checks": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            sign = "✓" if finding.ok else "✗" if finding.needed else "–"
            print_text(f"{sign} {finding.name:<12} {finding.detail}")
            if not finding.ok:
                print_text(f"  {'':<12} {finding.remedy}")
        verdict = f"Ready: questions go to {settings.model}." if usable else f"Not ready: {', '.join(lacking)}."
        print_text(f"\n{verdict}")
    raise typer.Exit(0 if usable else 1)
