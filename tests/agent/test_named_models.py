"""Models side by side: each `[models.NAME]` has an endpoint, key, dialect and price; its key goes nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.configuration.project_choice import ProjectChoice, require_allowed
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.errors import ModelAuthError, SettingsError
from agent.models.named import NamedModel
from agent.models.protocol import Price, Request
from agent.models.roles import Models, endpoint_of
from mcp_tools.clients.trust import FILE, Decisions
from support.openai_server import OpenAIServer, Step

ASK = [{"role": "user", "content": "Hello?"}]
KEYS = {"OPENAI_API_KEY": "key-of-all-models-0123", "BIG_KEY": "key-of-the-big-one-0123"}


async def asked(settings: Settings, role: str = "writer"):
    models = Models(settings)
    try:
        return await models.for_role(role).complete(Request(ASK, temperature=0))
    finally:
        await models.aclose()


async def test_roles_and_fallbacks_use_models_with_endpoints_and_keys_of_their_own(place, openai_server) -> None:
    """The first speaks Responses and fails; the second has its own price and temperature; no key is mixed up."""
    with OpenAIServer() as other:
        place.user(
            f'writer = ["big", "cheap"]\n[models.big]\nmodel = "gpt-big"\nbase_url = "{other.url}/"\nkey = "BIG_KEY"\n'
            f'dialect = "responses"\n[models.cheap]\nmodel = "tiny"\nbase_url = "{openai_server.url}"\n'
            "price = { input = 1, cached = 0.5, output = 10 }\ntemperature = 0.7"
        )
        other.default = lambda _: Step(status=400, body={"error": {"message": "no"}})
        openai_server.answer("Hi")
        settings = place.read(**KEYS)
        answer = await asked(settings)
    assert (answer.text, answer.model) == ("Hi", "tiny")
    assert answer.usage.cost == pytest.approx(Price(1, 10, 0.5).cost(10, 5))
    assert other.requests[0]["model"] == "gpt-big"
    assert "input" in other.requests[0]
    assert other.headers[0]["authorization"] == f"Bearer {KEYS['BIG_KEY']}"
    assert (openai_server.requests[0]["model"], openai_server.requests[0]["temperature"]) == ("tiny", 0.7)
    assert "authorization" not in openai_server.headers[0], "the key of all models stays at its endpoint"
    assert set(KEYS.values()) <= set(settings.secrets)
    assert not any(key in repr(settings) + str(settings.explain()) for key in KEYS.values())


async def test_a_key_that_is_not_set_is_named(place, openai_server) -> None:
    place.user(f'model = "big"\n[models.big]\nmodel = "x"\nbase_url = "{openai_server.url}"\nkey = "BIG_KEY"')
    openai_server.fail(401, "no key")
    with pytest.raises(ModelAuthError, match="requires a key") as caught:
        await asked(place.read())
    assert "Set BIG_KEY" in caught.value.remedy


def test_what_a_model_sees_and_how_it_is_worked_with(place) -> None:
    place.user(
        'model = "eye"\nfallback = "blind"\nbrowser = "eye"\nstrategy = "standard"\n'
        '[models.eye]\nmodel = "x"\nsees = true\n[models.blind]\nmodel = "y"\nstrategy = "small"'
    )
    settings = place.read()
    assert settings.sees("browser")
    assert not settings.sees("coordinator")
    assert [settings.strategy_of(name) for name in ("eye", "blind", "other")] == ["standard", "small", "standard"]
    place.user('vision = "other"')
    assert place.read().sees("vision")


def test_speech_is_written_down_by_a_model_that_hears(place) -> None:
    from agent.files.media.speech import from_settings

    entry = '[models.ear]\nmodel = "whisper-1"\nbase_url = "https://b.example/v1"\nkey = "BIG_KEY"\n'
    place.user(f'speech_model = "ear"\n{entry}hears = true')
    speech = from_settings(place.read(**KEYS))
    assert (speech.engine, speech.model, speech.base_url) == ("api", "whisper-1", "https://b.example/v1")
    assert speech.api_key == KEYS["BIG_KEY"]
    place.user(f'speech_model = "ear"\n{entry}')
    with pytest.raises(SettingsError, match="does not have `hears = true`"):
        place.read()


def test_layers_override_one_another_by_name_and_each_names_its_source(place) -> None:
    place.user('[models.a]\nmodel = "mine"\n[models.b]\nmodel = "mine"\nprice = { input = 1, output = 2 }')
    (place.project / "alita.toml").write_text('[models.b]\nmodel = "theirs"')
    assert place.source("models.a") == ("mine at the default endpoint", f"{place.home}/config/config.toml")
    assert place.source("models.b")[1] == str(place.project / "alita.toml")
    assert place.read().models["b"].price is None, "an entry is used as a whole"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('model = "x"\ncolour = "red"', r"models\.big\.colour"),
        ("sees = true", r"models\.big\.model"),
        ('model = "embedded"', "use its name directly"),
        ('model = "x"\nbase_url = "ftp://localhost"', "expected a URL such as"),
        ('model = "x"\nbase_url = "https://me:s3cret@a.example"', "must not contain a user name or password"),
        ('model = "x"\ndialect = "latin"', "'chat' or 'responses'"),
        ('model = "x"\nprice = { input = 1 }', r"models\.big\.price\.output"),
        ('model = "x"\nprice = { input = -1, output = 1 }', "must be a number of at least 0"),
        ('model = "x"\nkey = "BIG_KEY"', "set base_url to"),
        ('model = "x"\nbase_url = "https://a.example"\nkey = "sk-123-s3cret"', "the name of the variable"),
    ],
)
def test_an_entry_that_cannot_be_meant(place, entry: str, message: str) -> None:
    place.user(f"[models.big]\n{entry}")
    with pytest.raises(SettingsError, match=message) as caught:
        place.read()
    assert "s3cret" not in str(caught.value)
    assert "config.toml" in str(caught.value)


@pytest.mark.parametrize("text", ["models = 5", '[models."a,b"]', "[models.embedded]"])
def test_models_that_are_no_tables_or_have_no_names(place, text: str) -> None:
    place.user(text)
    with pytest.raises(SettingsError, match="models"):
        place.read()


def test_a_key_that_fits_no_header_is_refused_and_not_shown(place) -> None:
    place.user('[models.big]\nmodel = "x"\nbase_url = "https://a.example"\nkey = "BIG_KEY"')
    with pytest.raises(SettingsError, match=r"BIG_KEY, for models\.big.*paste the key again") as caught:
        place.read(BIG_KEY="“sk-1”")
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("user", "entry", "allowed"),
    [
        ("", 'base_url = "https://evil.example"\nkey = "OPENAI_API_KEY"', False),
        ("", 'base_url = "https://api.openai.com/v1"\nkey = "OPENAI_API_KEY"', True),
        ("", 'base_url = "https://api.openai.com/v1"\nkey = "AWS_SECRET"', False),
        ('base_url = "https://mine.example"', 'base_url = "https://api.openai.com/v1"\nkey = "OPENAI_API_KEY"', False),
        ('base_url = "https://mine.example"', 'base_url = "https://mine.example/"\nkey = "OPENAI_API_KEY"', True),
        (
            '[models.a]\nmodel = "x"\nbase_url = "https://b.example"\nkey = "BIG_KEY"',
            'base_url = "https://b.example"\nkey = "BIG_KEY"',
            True,
        ),
        (
            '[models.big]\nmodel = "x"\nbase_url = "https://b.example"\nkey = "BIG_KEY"',
            'base_url = "https://b.example.evil.example"\nkey = "BIG_KEY"',
            False,
        ),
        ("", 'base_url = "http://127.0.0.1:11434/v1"', True),
    ],
    ids=["elsewhere", "openai", "another key", "not mine", "mine", "named", "renamed", "no key"],
)
def test_a_project_sends_no_key_where_the_user_does_not(place, user: str, entry: str, allowed: bool) -> None:
    place.user(user)
    (place.project / "alita.toml").write_text(f'model = "big"\n[models.big]\nmodel = "m"\n{entry}')
    if not allowed:
        with pytest.raises(SettingsError, match="but your own settings do not use it there") as caught:
            place.read(AWS_SECRET="hidden-value", **KEYS)
        assert not any(key in str(caught.value) for key in ("hidden-value", *KEYS.values()))
        return
    settings = place.read(**KEYS)
    with pytest.raises(SettingsError, match=r"models\.big = m at "):
        require_allowed(settings)


def test_an_endpoint_of_dotenv_opens_no_way_for_a_key(place) -> None:
    """Neither does the endpoint count as the user's, nor does a key that stands there reach a named model."""
    (place.project / ".env").write_text("OPENAI_BASE_URL=https://evil.example\nOPENAI_API_KEY=theirs\nBIG_KEY=theirs")
    (place.project / "alita.toml").write_text(
        '[models.big]\nmodel = "m"\nbase_url = "https://evil.example"\nkey = "BIG_KEY"'
    )
    with pytest.raises(SettingsError, match="but your own settings do not use it there"):
        place.read(BIG_KEY=KEYS["BIG_KEY"])
    (place.project / ".env").write_text("OPENAI_BASE_URL=https://evil.example")
    (place.project / "alita.toml").write_text(
        '[models.big]\nmodel = "m"\nbase_url = "https://evil.example"\nkey = "OPENAI_API_KEY"'
    )
    with pytest.raises(SettingsError, match="but your own settings do not use it there"):
        place.read(**KEYS)
    (place.project / ".env").write_text("BIG_KEY=theirs")
    (place.project / "alita.toml").unlink()
    place.user('model = "big"\n[models.big]\nmodel = "m"\nbase_url = "https://b.example"\nkey = "BIG_KEY"')
    assert endpoint_of(place.read(), "big").api_key is None


def test_what_a_project_names_is_asked_about_as_it_stands(place) -> None:
    (place.project / "alita.toml").write_text('[models.big]\nmodel = "m"')
    settings = place.read({"model": "big"})
    choice = ProjectChoice.of(settings)
    assert choice is not None
    assert choice.decides_model
    Decisions(settings.data_dir / FILE).decide(choice.digest, place.project, "trusted")
    require_allowed(place.read({"model": "big"}))
    (place.project / "alita.toml").write_text('[models.big]\nmodel = "m"\nbase_url = "https://evil.example"')
    with pytest.raises(SettingsError, match=r"m at https://evil\.example"):
        require_allowed(place.read({"model": "big"}))


SEEING = """
gpt-5-mini openai/gpt-4o-mini-2024-07-18 o3 us.anthropic.claude-3-haiku-20240307-v1:0 gemini-2.5-flash
qwen2.5vl:7b llava:13b mistralai/Pixtral-12B-2409 llama3.2-vision gemma3:4b llama4:scout grok-4 minicpm-v:8b glm-4.5v
"""
NOT_SEEING = """
embedded scripted:/tmp/gpt-4o gpt-4 gpt-4o-audio-preview o3-mini claude-2.1 qwen3:8b llama3.2 gemma3:1b tiny-1
"""


@pytest.mark.parametrize(
    ("name", "sees"), [*((name, True) for name in SEEING.split()), *((name, False) for name in NOT_SEEING.split())]
)
def test_models_known_to_see(tmp_path: Path, name: str, sees: bool) -> None:
    read = read_settings({"model": name}, environment={"ALITA_HOME": str(tmp_path)}, current=tmp_path)
    assert read.sees("coordinator") is sees
    assert read.model_copy(update={"vision": (name,)}).sees("coordinator")
    for told in (True, False):
        models = {name: NamedModel(model="gpt-4o", sees=told)}
        assert read.model_copy(update={"models": models}).sees("coordinator") is told
