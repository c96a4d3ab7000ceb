"""Pictures in a run: who is shown them, in which form, how often, and what happens where an endpoint takes none."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from agent.events import PictureShown
from support.external import odd, write_servers
from support.openai_server import OpenAIServer, Step
from support.pdf_bytes import PdfBytes
from support.pictures import as_bytes, written

QUESTION = "Which word stands there?"


def images(body):
    """The pictures of a request, in their order."""
    found = []
    for message in body["messages"]:
        content = message["content"] if isinstance(message["content"], list) else []
        found += [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(";base64,")[2]))) for url in found]


def flags(server, **more):
    return {"model": "tiny-1", "vision": "tiny-1", "base_url": server.url, "api_key": "k", **more}


def scanned(*words):
    """A PDF whose pages are pictures."""
    pages = PdfBytes()
    for word in words:
        pages.page(picture=written(word))
    return pages.make()


@pytest.mark.usefixtures("in_process")
async def test_a_large_attached_picture_is_sent_once_and_sized_down(desk, tmp_path, openai_server):
    path = tmp_path / "wide.bmp"
    written("Marmalade", size=(3000, 600)).save(path)
    openai_server.steps.append(Step(tools=[("read", {"source": "wide.bmp"})]))
    openai_server.answer("Marmalade")
    answer = await desk.ask(QUESTION, files=[path], **flags(openai_server))
    assert answer.text == "Marmalade"
    first, second = openai_server.requests
    assert [picture.size for picture in images(first)] == [(2048, 410)]
    assert "wide.bmp (2048 x 410 pixels, sized down from 3000 x 600):" in json.dumps(first)
    assert len(images(second)) == 1
    assert "wide.bmp is shown above." in json.dumps(second)
    assert "base64" not in (desk.runs / answer.run_id / "journal.jsonl").read_text()
    path.unlink()
    assert (await desk.replay(answer.run_id)).text == "Marmalade"


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("dialect", ["chat", "responses"])
async def test_a_page_of_a_scan_is_shown_with_its_reading(dialect, tmp_path, desk, openai_server):
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned("Marmalade", "Quince"))
    config = desk.home / "config"
    config.mkdir(exist_ok=True)
    (config / "config.toml").write_text(
        f'model = "eye"\n[models.eye]\nmodel = "tiny-1"\nbase_url = "{openai_server.url}"\ndialect = "{dialect}"\n'
        "sees = true\n"
    )
    openai_server.steps.append(Step(tools=[("read", {"source": "scan.pdf", "page": 2})]))
    openai_server.answer("Quince")
    assert (await desk.ask("Which word stands on page 2?", files=[path])).text == "Quince"
    first, second = openai_server.requests
    assert "data:image" not in json.dumps(first)
    if dialect == "responses":
        [result] = [item for item in second["input"] if item.get("type") == "function_call_output"]
        kinds = [part["type"] for part in result["output"]]
        assert kinds == ["input_text", "input_text", "input_image"]
        assert result["output"][1]["text"].startswith("page 2 of scan.pdf")
    else:
        result, pictures = second["messages"][-2:]
        assert result["role"] == "tool"
        assert "scan.pdf (page 2 of 2)" in result["content"]
        assert pictures["role"] == "user"
        assert pictures["content"][1]["text"].startswith("page 2 of scan.pdf")
        assert len(images(second)) == 1


@pytest.mark.usefixtures("in_process")
async def test_an_endpoint_that_takes_no_pictures_is_told_what_ocr_reads_and_is_remembered(
    desk, tmp_path, openai_server
):
    path = tmp_path / "word.png"
    written("MARMALADE").save(path)

    def reply(body):
        if images(body):
            return Step(status=404, body={"error": {"message": "No endpoints found that support image input"}})
        assert "could not be shown to you, but this is known:" in json.dumps(body)
        return Step(text="seen: " + str("MARMALADE" in json.dumps(body) and "read by OCR" in json.dumps(body)))

    openai_server.default = reply
    answer = await desk.ask(QUESTION, files=[path], **flags(openai_server))
    assert answer.text == "seen: True"
    assert [len(images(body)) for body in openai_server.requests] == [1, 0]
    assert "pictures are not shown to the model" in desk.notes
    assert (await desk.replay(answer.run_id)).text == "seen: True"
    openai_server.requests.clear()
    await desk.ask("And which word is that?", files=[path], **flags(openai_server))
    assert [len(images(body)) for body in openai_server.requests] == [0], "it was not asked again"


@pytest.mark.usefixtures("in_process")
async def test_where_the_answering_model_is_refused_another_one_describes_the_picture(desk, tmp_path, openai_server):
    path = tmp_path / "word.png"
    written("MARMALADE").save(path)
    with OpenAIServer() as other:
        config = desk.home / "config"
        config.mkdir(exist_ok=True)
        (config / "config.toml").write_text(
            f'model = "a"\nvision = "b"\n[models.a]\nmodel = "x"\nbase_url = "{openai_server.url}"\nsees = true\n'
            f'[models.b]\nmodel = "y"\nbase_url = "{other.url}"\nsees = true\n'
        )
        other.answer("One word: MARMALADE, in red.")
        refusal = Step(status=400, body={"error": {"message": "This model does not support image input."}})
        openai_server.default = lambda body: refusal if images(body) else Step(text=str("in red" in json.dumps(body)))
        assert (await desk.ask("Which colour has the word?", files=[path])).text == "True"


def document(kind, path, picture):
    """A document of a kind with a picture in it."""
    file = io.BytesIO(as_bytes(picture, "png"))
    if kind == "docx":
        import docx

        word = docx.Document()
        word.add_paragraph("Look:")
        word.add_picture(file)
        word.save(path)
    elif kind == "pptx":
        import pptx

        show = pptx.Presentation()
        show.slides.add_slide(show.slide_layouts[6]).shapes.add_picture(file, 0, 0)
        show.save(path)
    else:
        import openpyxl
        from openpyxl.drawing.image import Image as SheetImage

        book = openpyxl.Workbook()
        book.active["A1"] = "Look:"
        book.active.add_image(SheetImage(file), "B2")
        book.save(path)
    return path


NAMES = {"docx": "picture-1.png", "pptx": "slide-1-picture-1.png", "xlsx": "picture-1.png"}


@pytest.mark.usefixtures("in_process")
async def test_a_picture_inside_a_document_is_shown_with_the_part_that_names_it(desk, tmp_path, openai_server):
    paths = [
        document(kind, tmp_path / f"{kind}.{kind}", written(kind, size=(321 + number, 123)))
        for number, kind in enumerate(NAMES)
    ]
    for path in paths:
        openai_server.steps.append(Step(tools=[("read", {"source": path.name})]))
    openai_server.steps.append(Step(tools=[("read", {"source": NAMES["pptx"]})]))
    openai_server.answer("Marmalade")
    assert (await desk.ask(QUESTION, files=paths, **flags(openai_server))).text == "Marmalade"
    first, *later = openai_server.requests
    assert all(name in json.dumps(first) for name in NAMES.values())
    sizes = [(321, 123), (322, 123), (323, 123)]
    assert [[picture.size for picture in images(body)] for body in openai_server.requests] == [
        [], sizes[:1], sizes[:2], sizes, sizes
    ]  # fmt: skip
    assert f"{NAMES['pptx']} is shown above." in json.dumps(later[-1])


@pytest.mark.usefixtures("in_process")
async def test_without_a_model_that_sees_a_picture_in_a_document_is_read_by_ocr(desk, tmp_path, openai_server):
    path = document("docx", tmp_path / "report.docx", written("MARMALADE"))
    openai_server.steps.append(Step(tools=[("read", {"source": path.name})]))
    openai_server.default = lambda body: Step(text=str("MARMALADE" in json.dumps(body)))
    answer = await desk.ask(QUESTION, files=[path], **flags(openai_server, vision=None))
    assert answer.text == "True"
    assert "picture-1.png, text in the picture, read by OCR, with 9" in json.dumps(openai_server.requests[-1])


SHOW = """
from PIL import Image
picture = Image.open({path!r})
show(picture.crop((0, 0, 40, 30)))
show(open({path!r}, "rb").read())
show({path!r})
"""


@pytest.mark.usefixtures("in_process")
async def test_a_program_shows_what_it_cuts_out_and_the_journal_keeps_its_name(desk, tmp_path, openai_server):
    path = tmp_path / "word.png"
    written("Marmalade", size=(400, 300)).save(path)
    openai_server.steps.append(Step(tools=[("run_python", {"code": SHOW.format(path=str(path))})]))
    openai_server.answer("Marmalade")
    answer = await desk.ask(QUESTION, files=[path], **flags(openai_server))
    assert answer.text == "Marmalade"
    first, second = openai_server.requests
    assert "show(image)" in first["messages"][0]["content"]
    assert [picture.size for picture in images(second)] == [(400, 300), (40, 30)], "the whole was sent before"
    assert "step_1_picture_1.png:" in json.dumps(second)
    journal = (desk.runs / answer.run_id / "journal.jsonl").read_text()
    assert "step_1_picture_1.png" in journal
    assert "iVBOR" not in journal
    shown = desk.of(PictureShown)
    assert [Path(event.path).name for event in shown] == ["step_1_picture_1.png", "step_1_picture_2.png", "word.png"]
    assert {Path(event.copy).suffix for event in shown} <= {".png", ".jpg"}
    assert (await desk.replay(answer.run_id)).text == "Marmalade"


@pytest.mark.usefixtures("in_process")
async def test_pictures_of_the_oldest_steps_give_way_to_their_names(desk, tmp_path, openai_server):
    path = tmp_path / "word.png"
    written("Marmalade", size=(400, 300)).save(path)
    code = f"from PIL import Image\npicture = Image.open({str(path)!r})\n"
    for number in range(4):
        shown = "".join(f"show(picture.crop((0, 0, {10 * number + part + 9}, 9)))\n" for part in range(1, 7))
        openai_server.steps.append(Step(tools=[("run_python", {"code": code + shown})]))
    openai_server.answer("Marmalade")
    await desk.ask(QUESTION, files=[path], **flags(openai_server))
    assert [len(images(body)) for body in openai_server.requests] == [1, 7, 13, 7, 13]
    last = json.dumps(openai_server.requests[-1])
    assert last.count("is not shown any more") == 12
    assert "step_1_picture_1.png is not shown any more; show('/" in last


@pytest.mark.usefixtures("in_process")
async def test_an_endpoint_without_functions_is_shown_pictures_all_the_same(desk, tmp_path, openai_server):
    """The conversation is rewritten for it: results, with their pictures, are messages of the user."""
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned("Marmalade"))
    openai_server.refuse('"tools"').refuse("json_schema")

    def reply(body):
        if images(body):
            return Step(text="Marmalade")
        return Step(text=json.dumps({"say": "", "calls": [{"name": "read", "arguments": {"source": "scan.pdf"}}]}))

    openai_server.default = reply
    assert (await desk.ask(QUESTION, files=[path], **flags(openai_server))).text == "Marmalade"
    assert {message["role"] for message in openai_server.requests[-1]["messages"]} == {"system", "user", "assistant"}


def serve_pictures(desk, content):
    """A server whose tool gives these blocks of content."""
    write_servers(desk.home / "config" / "mcp.json", parts=odd(calls={"lookup": [{"result": {"content": content}}]}))


LOOK = "Please look up the price with the lookup tool of parts: which word stands there?"


@pytest.mark.usefixtures("in_process")
async def test_a_picture_of_an_external_tool_is_shown_to_a_model_that_sees(desk, openai_server):
    data = base64.b64encode(as_bytes(written("Marmalade"), "PNG")).decode()
    serve_pictures(desk, [{"type": "image", "data": data, "mimeType": "image/png"}])
    openai_server.steps.append(Step(tools=[("parts__lookup", {})]))
    openai_server.answer("Marmalade")
    answer = await desk.ask(LOOK, **flags(openai_server))
    assert answer.text == "Marmalade"
    _, second = openai_server.requests
    (picture,) = images(second)
    assert picture.size == written("Marmalade").size
    assert "parts__lookup_image_1.png" in json.dumps(second)
    journal = (desk.runs / answer.run_id / "journal.jsonl").read_text()
    assert data[:60] not in journal
    (desk.home / "config" / "mcp.json").unlink()
    assert (await desk.replay(answer.run_id)).text == "Marmalade"
