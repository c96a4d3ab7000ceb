"""Which layer of settings wins, what an untrusted file may not set, and what a bad value gets."""

import re
from dataclasses import fields

import pytest

from agent.budget import RunLimits
from agent.cli import options
from agent.configuration.project_choice import ProjectChoice, require_allowed
from agent.configuration.settings import LIMITS, TRAITS, Settings
from agent.configuration.settings_sources import variables
from agent.errors import SettingsError
from mcp_tools.clients.trust import FILE, Decisions


def test_each_layer_beats_the_one_below_it_and_names_itself(place):
    assert place.source("max_steps") == ("12", "default")
    place.user("max_steps = 3")
    assert place.source("max_steps") == ("3", str(place.home / "config" / "config.toml"))
    (place.project / "alita.toml").write_text("max_steps = 4")
    assert place.source("max_steps") == ("4", str(place.project / "alita.toml"))
    (place.project / ".env").write_text("ALITA_MAX_STEPS=5\nSOMETHING_ELSE=1\n")
    assert place.source("max_steps") == ("5", f"{place.project / '.env'} (ALITA_MAX_STEPS)")
    assert place.source("max_steps", ALITA_MAX_STEPS="6") == ("6", "variable ALITA_MAX_STEPS")
    assert place.source("max_steps", {"max_steps": 7}, ALITA_MAX_STEPS="6") == ("7", "flag --max-steps")
    assert place.source("max_steps", {"max_steps": None})[0] == "5"


@pytest.mark.parametrize(("setting", "variable"), [(s, v) for s, traits in TRAITS.items() for v in traits.variables])
def test_every_accepted_variable_sets_its_setting(place, setting, variable):
    value = "https://example.org/v1" if setting.endswith("_url") else "some-value-of-24-letters"
    found = getattr(place.read(**{variable: value}), setting)
    assert (found if isinstance(found, str) else found.get_secret_value()) == value


def test_a_variable_of_alita_beats_one_that_others_use_too(place):
    assert variables("api_key") == ("ALITA_API_KEY", "LLM_API_KEY", "OPENAI_API_KEY")
    settings = place.read(OPENAI_API_KEY="theirs", LLM_API_KEY="", ALITA_API_KEY=" ours ")
    assert settings.api_key.get_secret_value() == "ours"


@pytest.mark.parametrize(
    ("environment", "model"),
    [
        ({}, "embedded"),
        ({"OPENAI_API_KEY": "k"}, "gpt-5-mini"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/"}, "auto"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/", "LLM_API_KEY": "k"}, "auto"),
        ({"OPENAI_BASE_URL": "api.openai.com/v1", "LLM_API_KEY": "k"}, "gpt-5-mini"),
        ({"OPENAI_API_KEY": "k", "LLM_MODEL_NAME": "other"}, "other"),
    ],
    ids=["nothing", "key", "endpoint", "both", "openai", "named"],
)
def test_the_model_follows_from_what_is_configured(place, environment, model):
    assert place.read(**environment).model == model


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:80x/v1",
        "ftp://x",
        "nonsense",
        "http://[/v1",
    ],
)
def test_an_address_that_is_none_is_refused(place, address):
    with pytest.raises(SettingsError, match="base_url"):
        place.read(OPENAI_BASE_URL=address)


def test_an_address_holds_no_password_and_none_is_shown(place):
    with pytest.raises(SettingsError, match="OPENAI_API_KEY") as refused:
        place.read(OPENAI_BASE_URL="https://bob:s3cret@host/v1")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("key", ["“sk-0123456789”", "sk-01234\n56789"])
def test_a_key_that_fits_no_header_is_refused_and_not_shown(place, key):
    with pytest.raises(SettingsError, match="paste the key again") as refused:
        place.read(OPENAI_API_KEY=key)
    assert "sk-" not in str(refused.value)


def test_a_role_has_its_own_models_or_the_common_ones(place):
    place.user('writer = ["big", "small"]\nfallback = "spare"')
    settings = place.read(LLM_MODEL_NAME="main", ALITA_EXAMINER="a, b,")
    assert settings.models_for("writer") == ("big", "small")
    assert settings.models_for("examiner") == ("a", "b")
    assert settings.models_for("planner") == ("main", "spare")


def test_home_relocates_every_folder(place):
    settings = place.read()
    folders = [n for n in Settings.model_fields if n.endswith("_dir")]
    assert all(getattr(settings, name).is_relative_to(place.home) for name in folders)
    assert place.source("runs_dir") == (str(place.home / "data" / "runs"), "variable ALITA_HOME")
    (place.project / "generated_tools").mkdir()
    assert place.read().tools_dir == place.project / "generated_tools"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('base_url = "http://evil.example/v1"', "base_url"),
        ('api_key = "k"', "api_key"),
        ('isolation = "none"', "isolation"),
        ('browser_hosts = ["evil.example"]', "browser_hosts"),
        ('allow_addresses = ["127.0.0.1"]', "allow_addresses"),
        ('runs_dir = "/tmp/x"', "runs_dir"),
        ('tools_dir = "../elsewhere"', "outside the project"),
        ('tools_dir = "/etc"', "outside the project"),
    ],
)
def test_a_project_may_not_redirect_or_weaken(place, text, named):
    (place.project / "alita.toml").write_text(text)
    with pytest.raises(SettingsError, match=named):
        place.read()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("10.0.0.5/8", "is not a host, a network"),
        ("intranet.example/wiki", "is not a host, a network"),
        ("http://intranet.example/wiki", "must contain only a host"),
        ("http://127.0.0.1:99999", "not a valid URL"),
        ("127.1", "use 127.0.0.1 instead"),
        ("*.intranet.example", "is not a valid host name"),
    ],
)
def test_an_entry_of_allow_addresses_that_means_nothing_is_an_error(place, entry, said):
    with pytest.raises(SettingsError, match=said):
        place.read(ALITA_ALLOW_ADDRESSES=entry)


def test_a_project_may_not_leave_itself_through_a_link(place, tmp_path):
    (place.project / "tools").symlink_to(tmp_path)
    (place.project / "alita.toml").write_text('tools_dir = "tools"')
    with pytest.raises(SettingsError, match="outside the project"):
        place.read()


@pytest.mark.parametrize("line", ["ALITA_HOME=/tmp/x", "ALITA_ISOLATION=none", "ALITA_RUNS_DIR=x"])
def test_dotenv_may_not_move_folders_or_weaken(place, line):
    (place.project / ".env").write_text(line)
    with pytest.raises(SettingsError, match=line.split("=")[0]):
        place.read()


def test_an_endpoint_from_dotenv_gets_no_key_from_elsewhere(place):
    dotenv = place.project / ".env"
    dotenv.write_text("OPENAI_BASE_URL=http://evil.example/v1")
    with pytest.raises(SettingsError, match="OPENAI_API_KEY would be sent to http://evil"):
        place.read(OPENAI_API_KEY="secret")
    place.user('api_key = "secret"')
    with pytest.raises(SettingsError, match=r"config\.toml would be sent to"):
        place.read()
    assert place.read({"base_url": "http://mine.example"}).base_url == "http://mine.example"
    dotenv.write_text("OPENAI_BASE_URL=http://own.example/v1\nOPENAI_API_KEY=own")
    assert place.read().api_key.get_secret_value() == "own"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"ALITA_MAX_STEPS": "many"},
            "max_steps has the invalid value 'many' .variable ALITA_MAX_STEPS.: .*whole number",
        ),
        ({"ALITA_MAX_COST": "nan"}, "max_cost"),
        ({"ALITA_ISOLATION": "some"}, "'bubblewrap', 'sandlock' or 'none'"),
        (
            {"OPENAI_BASE_URL": "http://me:pw@a.example/v1?key=abc"},
            "base_url has the invalid value 'http://a.example/v1[?]…'",
        ),
        ({"OPENAI_BASE_URL": "nonsense"}, "base_url has the invalid value 'nonsense'.*https://"),
        (
            {"ALITA_BROWSER_HOSTS": "shop.example, https://a.example/"},
            "https://a.example/ is not a host name.*shop.example",
        ),
        ({"ALITA_MAX_STEP": "3"}, "ALITA_MAX_STEP does not match any setting"),
    ],
)
def test_a_bad_variable_is_named_with_its_value_and_what_is_allowed(place, environment, message):
    with pytest.raises(SettingsError, match=message) as caught:
        place.read(**environment)
    assert caught.value.exit_code == 2


def test_an_unknown_key_names_the_file_and_the_nearest_setting(place):
    place.user("max_step = 3")
    with pytest.raises(SettingsError) as caught:
        place.read()
    assert "config.toml" in caught.value.message
    assert caught.value.remedy == "Did you mean max_steps?"


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("shoe_size = 3", "Remove it from {file}."),
        ('colour = "never"', "It is not a setting but an option: --color never (or set NO_COLOR=1)"),
        ('max_steps = "many"', "Correct it in {file}."),
    ],
    ids=["unknown", "option", "value"],
)
def test_an_error_in_a_file_has_a_remedy_that_works(place, line, remedy):
    """`alita config show` would fail in the same way."""
    place.user(line)
    with pytest.raises(SettingsError) as caught:
        place.read()
    assert caught.value.remedy == remedy.format(file=re.search(r"/\S*config.toml", caught.value.message).group())


def test_an_invalid_variable_can_be_unset(place):
    with pytest.raises(SettingsError) as caught:
        place.read(ALITA_MAX_STEPS="many")
    assert caught.value.remedy == "Change it, or run: unset ALITA_MAX_STEPS"


@pytest.mark.parametrize(
    ("line", "variables", "said"),
    [
        ('web_index = "pages"', {}, "config.toml sets web_index, but "),
        ('engines = ["index", "ddgs"]', {}, "engines has the invalid value "),
        ("", {"ALITA_WEB_INDEX": "pages"}, "The variable ALITA_WEB_INDEX is set, but "),
        ("", {"ALITA_ENGINES": "index"}, "engines has the invalid value "),
    ],
    ids=["file, setting", "file, engine", "variable, setting", "variable, engine"],
)
def test_the_own_index_of_an_earlier_version_is_named(place, line, variables, said):
    place.user(line)
    with pytest.raises(SettingsError) as caught:
        place.read(**variables)
    assert said in caught.value.message
    assert "the engine `index`, which searched your own pages, was removed; attach files with" in caught.value.message


def test_a_file_that_is_not_toml_says_where(place):
    (place.project / "alita.toml").write_bytes(b"model = \nmax_steps = 3")
    with pytest.raises(SettingsError, match=r"alita\.toml is not valid TOML: .*line 1"):
        place.read()
    (place.project / "alita.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="cannot be read"):
        place.read()


def test_keys_are_never_shown(place):
    settings = place.read(OPENAI_API_KEY="sk-abcdefghijklmnopqrstuvwxyz", HF_TOKEN="short")
    shown = repr(settings) + str(settings.explain())
    assert "abcdefgh" not in shown
    assert "short" not in shown
    assert "sk-abcdefghijklmnopqrstuvwxyz" in settings.secrets
    place.user("api_key = 12345")
    with pytest.raises(SettingsError) as caught:
        place.read()
    assert "12345" not in str(caught.value)


SCRIPTS = ['model = "scripted:x"', 'writer = "a, scripted:x"', 'browser = ["scripted:x"]']


@pytest.mark.parametrize("line", SCRIPTS)
def test_a_project_names_no_script(place, line):
    (place.project / "alita.toml").write_text(line)
    with pytest.raises(SettingsError, match=r"alita\.toml sets \w+ to a script"):
        place.read({"model": "mine"})
    (place.project / "alita.toml").unlink()
    (place.project / ".env").write_text("LLM_MODEL_NAME=scripted:x")
    with pytest.raises(SettingsError, match=r"LLM_MODEL_NAME\) sets model to a script"):
        place.read()
    (place.project / ".env").unlink()
    place.user(line)
    assert place.read(ALITA_MODEL="scripted:y").model == "scripted:y"


@pytest.mark.parametrize(
    ("toml", "dotenv", "chosen"),
    [
        ("max_steps = 3", "ALITA_PLAIN=1", set()),
        ('model = "m"', "", {"model"}),
        ('planner = ["p"]\nengines = ["arxiv"]', "", {"planner", "engines"}),
        ("", "OPENAI_BASE_URL=http://own.example/v1", {"base_url", "model"}),
        ("", "OPENAI_API_KEY=own-key", {"api_key", "model"}),
        ('speech = "api"', "", {"speech"}),
    ],
)
def test_what_a_project_chooses_is_used_once_it_is_allowed_as_it_stands(place, toml, dotenv, chosen):
    (place.project / "alita.toml").write_text(toml)
    (place.project / ".env").write_text(dotenv)
    settings = place.read()
    assert settings.chosen_by_project == chosen
    if not chosen:
        return require_allowed(settings)
    with pytest.raises(SettingsError, match="choose which model answers, and you have not allowed that") as caught:
        require_allowed(settings)
    assert "own-key" not in caught.value.message
    assert "alita config trust" in caught.value.remedy
    choice = ProjectChoice.of(settings)
    decisions = Decisions(settings.data_dir / FILE)
    decisions.decide(choice.digest, place.project, "trusted")
    require_allowed(place.read())
    (place.project / "alita.toml").write_text(f"{toml}\nfallback = ['another']")
    with pytest.raises(SettingsError):
        require_allowed(place.read())
    return None


def test_what_the_user_names_overrides_a_project_and_asks_nothing(place):
    (place.project / "alita.toml").write_text('model = "theirs"')
    for settings in (place.read({"model": "mine"}), place.read(ALITA_MODEL="mine")):
        assert settings.chosen_by_project == set()
    (place.project / "alita.toml").write_text('model = "theirs"\nplanner = "theirs"')
    assert place.read({"model": "mine"}).chosen_by_project == {"planner"}


def test_the_command_line_offers_every_limit_of_a_run():
    assert set(options.LIMITS.split()) == set(LIMITS) == {f"max_{field.name}" for field in fields(RunLimits)}
