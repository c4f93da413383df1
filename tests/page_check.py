"""Checks of the HTML pages in headless Chromium, which is driven through a pipe.

    page_check.py FOLDER CHROMIUM    one line per check: "ok NAME", or "failed NAME" after a traceback

FOLDER has the pages paper, loads, trainings, one and compared (.html). Pictures of what was seen are left in it.
"""

import base64
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

FOLDER = Path(sys.argv[1]).resolve()
DESK, PHONE = (1440, 900), (390, 844)


class Browser:
    """Chromium with one tab. What it says on its console is in `said`."""

    def __init__(self, program):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        high = [os.dup(end) for end in (to_read, to_write)]

        def ends():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", f"--user-data-dir={FOLDER / 'profile'}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen([program, *flags, "about:blank"], preexec_fn=ends, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_read, to_write, *high):
            os.close(end)
        self.buffer, self.number, self.session, self.said, self.events = b"", 0, None, [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.buffer:
            got = os.read(self.read, 1 << 20)
            if not got:
                raise RuntimeError("the browser has gone")
            self.buffer += got
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method = message.get("method", "")
        self.events.append(method)
        if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.said.append(json.dumps(message["params"])[:600])

    def call(self, method, **params):
        self.number += 1
        order = {"id": self.number, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.write, json.dumps(order).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self.note(message)

    def open(self, name, size, script=True):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=size[0] < 600)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        for address in ("about:blank", f"file://{FOLDER}/{name}.html"):
            self.events.clear()
            self.call("Page.navigate", url=address)
            while "Page.loadEventFired" not in self.events:
                self.note(self.message())

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def box(self, selector):
        return self.ask(f"""(() => {{ const b = document.querySelector({json.dumps(selector)});
            if (!b) return null; const r = b.getBoundingClientRect();
            return [r.left, r.top, r.right, r.bottom]; }})()""")

    def shot(self, name):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        (FOLDER / f"{name}.png").write_bytes(base64.b64decode(data))

    def mouse(self, selector, click=False):
        left, top, right, bottom = self.box(selector)
        where = {"x": (left + right) / 2, "y": (top + bottom) / 2}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **where)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **where)

    def settle(self):
        self.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")


browser = Browser(sys.argv[2])


def first_screen(name, size):
    """The verdict, the matrix and the picture are seen before anybody scrolls."""
    browser.open(name, size)
    browser.shot(f"{name}-{size[0]}")
    assert 1 <= len(browser.ask("document.querySelector('#verdict').textContent").split()) <= 35
    for part, least in (("#verdict", 1.0), ("#matrix", 1.0), ("#hero svg", 0.8)):
        left, top, right, bottom = browser.box(part)
        seen = max(0, min(bottom, size[1]) - max(top, 0)) * max(0, min(right, size[0]) - max(left, 0))
        share = seen / ((right - left) * (bottom - top))
        assert share >= least - 0.01, (name, size, part, share, left, top, right, bottom)
    wide = browser.ask("document.documentElement.scrollWidth")
    assert wide <= size[0], f"the page is {wide} px wide"


def check_the_first_screen_of_a_desk_has_verdict_matrix_and_picture():
    for name in ("paper", "loads", "trainings", "one"):
        first_screen(name, DESK)


def check_the_first_screen_of_a_phone_has_verdict_matrix_and_picture():
    for name in ("paper", "loads", "trainings", "one"):
        first_screen(name, PHONE)


def check_the_published_bars_are_on_the_first_screen_of_a_desk():
    browser.open("paper", DESK)
    assert browser.box(".bars svg")[1] < DESK[1] - 40
    assert browser.ask("document.querySelectorAll('.bars svg rect').length") > 2


def check_a_setting_is_drawn_when_it_is_opened():
    browser.open("paper", DESK)
    drawn = "document.querySelectorAll('.setting figure.drawn').length"
    assert browser.ask(drawn) == 0
    browser.ask("document.querySelector('.setting').open = true")
    browser.settle()
    expected = browser.ask("document.querySelector('.setting').querySelectorAll('figure').length")
    assert browser.ask(drawn) == expected >= 8
    browser.ask("document.querySelector('.setting figure').scrollIntoView()")
    browser.shot("paper-setting")


def check_every_part_of_every_page_can_be_drawn():
    for name in ("paper", "loads", "trainings", "one"):
        browser.open(name, PHONE)
        browser.ask("document.querySelectorAll('.part').forEach(part => { part.open = true; })")
        browser.settle()
        left = "[...document.querySelectorAll('figure:not(.drawn)')].map(f => f.dataset.kind).join(' ')"
        assert browser.ask(left) == "", (name, browser.ask(left))
        assert "NaN" not in browser.ask("[...document.querySelectorAll('figure svg')].map(s => s.outerHTML).join('')")


def check_a_link_of_the_navigation_opens_its_setting():
    browser.open("paper", DESK)
    browser.mouse("nav a[href='#s3']", click=True)
    browser.settle()
    assert browser.ask("document.querySelector('#s3').closest('details').open")
    assert 0 <= browser.box("#s3")[1] < 200


def check_the_pointer_shows_mean_and_interval():
    browser.open("paper", DESK)
    for mark in ("#matrix td[data-v]", "#hero .mark"):
        browser.mouse(mark)
        browser.settle()
        text = browser.ask("document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent")
        assert "[" in text and "]" in text and "\n" in text, (mark, text)


def check_every_mark_of_the_first_picture_is_named():
    for name in ("paper", "one"):
        browser.open(name, DESK)
        missing = browser.ask("""(() => {
            const told = [...document.querySelectorAll('#hero [data-names]')].flatMap(t => t.dataset.names.split('\\n'));
            const key = [...document.querySelectorAll('#hero .key .mark')].map(m => m.dataset.c);
            const marks = [...document.querySelectorAll('#hero svg[role] .mark')].map(m => m.dataset.c);
            return marks.length === 0 ? 'none' : marks.filter(m => !told.includes(m) && !key.includes(m)).join(' ');
        })()""")
        assert missing == "", (name, missing)


def check_a_policy_has_one_colour():
    for name in ("paper", "loads", "trainings"):
        browser.open(name, DESK)
        browser.ask("document.querySelectorAll('.part').forEach(part => { part.open = true; })")
        browser.settle()
        several = browser.ask("""(() => { const seen = new Map();
            document.querySelectorAll('figure .mark').forEach(m => { const c = m.dataset.c, f = m.getAttribute('fill'), s = m.getAttribute('stroke');
                const colour = f === '#fff' || f === 'none' ? s : f;
                if (c && c !== "undefined") seen.set(c, (seen.get(c) || new Set()).add(colour)); });
            return [...seen].filter(([, set]) => set.size > 1).map(([c, set]) => c + ' ' + [...set]).join('; '); })()""")
        assert several == "", (name, several)


def check_a_policy_is_compared_with_the_others_seed_by_seed():
    browser.open("paper", DESK)
    before = browser.ask("document.querySelectorAll('#hero svg[role] .mark').length")
    browser.ask("(() => { const s = document.querySelector('#hero select'); s.value = 'fifo'; s.onchange(); })()")
    browser.settle()
    browser.shot("paper-differences")
    assert browser.ask("document.querySelectorAll('#hero svg[role] .mark').length") == before - 1
    assert "minus fifo" in browser.ask("document.querySelector('#hero svg[role] .mark').dataset.tip")
    assert browser.ask("document.querySelector('#hero .zero') !== null")


def check_figures_can_be_saved_and_tables_copied():
    browser.open("paper", DESK)
    kept = browser.ask("""(() => { const kept = []; const link = HTMLAnchorElement.prototype.click;
        HTMLAnchorElement.prototype.click = function () { kept.push(this.download); };
        document.querySelectorAll('#hero .save button').forEach(b => b.click());
        HTMLAnchorElement.prototype.click = link; return kept.join(' '); })()""")
    assert re.fullmatch(r"hit-against-cost-\S+\.svg hit-against-cost-\S+\.csv", kept), kept
    assert browser.ask("document.querySelector('#matrix .save button').textContent") == "Copy table"


def check_the_page_is_dark_where_the_system_is():
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.open("paper", DESK)
    browser.shot("paper-dark")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(23, 25, 28)"
    browser.call("Emulation.setEmulatedMedia", features=[])


def check_a_policy_can_be_left_out():
    browser.open("paper", DESK)
    shown = "[...document.querySelectorAll('#matrix tbody tr')].filter(row => row.offsetHeight > 0).map(row => row.cells[0].textContent)"
    dots = "document.querySelectorAll('#hero svg[role] .mark').length"
    rows, before = browser.ask(shown), browser.ask(dots)
    browser.mouse(".filter summary", click=True)
    browser.mouse(".filter label:nth-of-type(2) input", click=True)
    browser.settle()
    assert browser.ask(shown) == rows[:1] + rows[2:] and browser.ask(dots) == before - 1
    browser.ask("document.querySelector('.setting').open = true")
    hidden = f"[...document.querySelectorAll('.setting tbody tr')].filter(row => row.cells[0].textContent === {json.dumps(rows[1])} && row.offsetHeight > 0).length"
    assert browser.ask(hidden) == 0
    browser.shot("paper-filter")


def check_a_column_sorts_its_rows():
    browser.open("paper", DESK)
    column = "[...document.querySelectorAll('#matrix tbody tr')].map(row => Number(row.cells[2].dataset.v))"
    other = browser.ask("document.querySelector('#hero figcaption').textContent")
    browser.mouse("#matrix th:nth-child(3)", click=True)
    values = browser.ask(column)
    assert values == sorted(values, reverse=True) and len(set(values)) > 3
    assert browser.ask("document.querySelector('#hero figcaption').textContent") != other
    browser.mouse("#matrix th:nth-child(3)", click=True)
    assert browser.ask(column) == sorted(values)
    browser.open("compared", DESK)
    browser.mouse("th:nth-child(2)", click=True)
    assert browser.ask("document.querySelectorAll('th[aria-sort]').length") == 1


def printed(height):
    data = browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=height)["data"]
    (FOLDER / "paper.pdf").write_bytes(base64.b64decode(data))
    tell = subprocess.run(["pdfinfo", FOLDER / "paper.pdf"], capture_output=True, text=True, check=True).stdout
    text = subprocess.run(["pdftotext", "-layout", FOLDER / "paper.pdf", "-"], capture_output=True, text=True, check=True).stdout
    return int(next(line.split()[1] for line in tell.splitlines() if line.startswith("Pages:"))), text


def check_print_has_few_pages_and_repeats_the_headers():
    browser.open("paper", DESK)
    pages, _ = printed(11.69)
    assert pages <= 30, f"{pages} pages"
    _, text = printed(3)  # each table of results goes on over pages
    tables = browser.ask("document.querySelectorAll('.setting').length")
    assert len(re.findall(r"policy +requests", text)) > tables, "a table that goes on has no header there"


def check_without_scripts_all_is_readable():
    for name in ("paper", "loads", "trainings", "one"):
        browser.open(name, DESK, script=False)
        browser.shot(f"{name}-plain")
        tree = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        texts = browser.call("DOM.getOuterHTML", nodeId=tree)["outerHTML"]
        assert "<svg" not in texts and texts.count("<table") >= 2
        for selector in ("#verdict", "td[data-v]"):
            node = browser.call("DOM.querySelector", nodeId=tree, selector=selector)["nodeId"]
            assert node > 0, (name, selector)
        browser.call("DOM.getBoxModel", nodeId=browser.call("DOM.querySelector", nodeId=tree, selector="#verdict")["nodeId"])


def check_the_page_of_the_paper_is_below_three_megabytes():
    assert (FOLDER / "paper.html").stat().st_size < 3_000_000


def check_the_console_stays_empty():
    assert browser.said == [], browser.said


for check, function in list(globals().items()):
    if check.startswith("check_"):
        words = check.removeprefix("check_").replace("_", " ")
        try:
            function()
            print("ok", words, flush=True)
        except Exception:
            traceback.print_exc()
            print("failed", words, flush=True)
browser.call("Browser.close")
browser.process.wait(20)
