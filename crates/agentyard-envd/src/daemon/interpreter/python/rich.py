# What values of well-known libraries show beside their text, and what stands in for IPython where there is none.

import datetime
import io
import json
import math
import sys
from _frozen_importlib import ModuleSpec

MAX_TABLE_CELLS = 100_000

loop = None


def json_text(value):
    return json.dumps(plain(value), ensure_ascii=True, allow_nan=False)


def plain(value, depth=0):
    """The value with nothing in it that JSON does not know."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (datetime.date, datetime.time)):
        # What stands for a missing date is one, and has no text.
        return value.isoformat() if value == value else None
    if depth > 64:
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    numpy = sys.modules.get("numpy")
    if numpy:
        if isinstance(value, numpy.datetime64):
            return None if numpy.isnat(value) else str(value.astype("datetime64[s]"))
        if isinstance(value, numpy.ndarray):
            return plain(value.tolist(), depth + 1)
        if isinstance(value, numpy.generic):
            return plain(value.item(), depth + 1)
    return str(value)


def wait_for(coroutine):
    """Runs a cell that awaits. What it leaves running goes on when the next such cell is run."""
    import asyncio

    global loop
    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        raise


# ---- tables and figures


def enrich(value, bundle):
    pandas, figures = sys.modules.get("pandas"), sys.modules.get("matplotlib.figure")
    if pandas and isinstance(value, pandas.DataFrame) and value.size <= MAX_TABLE_CELLS:
        bundle["e2b/data"] = value.to_dict(orient="list")
    if figures and isinstance(value, figures.Figure):
        image = io.BytesIO()
        value.savefig(image, format="png", bbox_inches="tight")
        bundle["image/png"] = image.getvalue()
        chart = kernel.part("charts")["chart_of"](value)
        if chart:
            bundle["e2b/chart"] = chart
        close(value)


def show_figures(*_arguments, **_options):
    """Shows every figure that is open, and closes it, so that none is shown twice."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    for manager in list(helpers.Gcf.get_all_fig_managers()) if helpers else ():
        kernel.display(manager.canvas.figure)


def close(figure):
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot:
        pyplot.close(figure)


# ---- IPython


def find_spec(finder, name, path, target):
    """Where a module is, and what is done when it has been imported."""
    for other in sys.meta_path:
        if other is finder or not hasattr(other, "find_spec"):
            continue
        spec = other.find_spec(name, path, target)
        if spec is not None:
            if spec.loader is not None:
                spec.loader = Changing(spec.loader)
            return spec
    if name == "IPython":
        return ModuleSpec(name, StandIn(), is_package=True)
    if name == "IPython.display" and getattr(sys.modules.get("IPython"), "stands_in", False):
        return ModuleSpec(name, StandIn())
    return None


class Changing:
    """Loads a module as it is, then lets it show things as we do."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        if module.__name__ == "matplotlib.pyplot":
            module.show = show_figures
        elif module.__name__ != "IPython" and hasattr(module, "display"):
            module.display = kernel.display
            module.publish_display_data = publish_display_data


class StandIn:
    """What most code wants of IPython, where it is not installed."""

    def create_module(self, _spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "IPython":
            module.stands_in, module.version_info, module.__version__ = True, (8, 24, 0, ""), "8.24.0"
            module.get_ipython = lambda: None
        else:
            module.display, module.publish_display_data = kernel.display, publish_display_data
            module.clear_output = module.update_display = lambda *_arguments, **_options: None
            for shown in (HTML, Markdown, Latex, Math, SVG, Javascript, JSON, Pretty, Image):
                shown.__module__ = "IPython.display"
                setattr(module, shown.__name__, shown)


def publish_display_data(data, metadata=None, source=None, **_options):
    kernel.publish(data)


class Shown:
    """Something of one MIME type: given as it is, or by the name of the file that holds it."""

    mime, binary = "text/plain", False

    def __init__(self, data=None, url=None, filename=None, **_options):
        if url is not None:
            raise ValueError(f"{type(self).__name__} can show data and files here, not addresses")
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        if isinstance(data, bytes) and not self.binary:
            data = data.decode("utf-8", "replace")
        self.data = data

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data}


class HTML(Shown):
    mime = "text/html"


class Markdown(Shown):
    mime = "text/markdown"


class Latex(Shown):
    mime = "text/latex"


class Math(Latex):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: "$\\displaystyle " + self.data.strip("$") + "$"}


class SVG(Shown):
    mime = "image/svg+xml"


class Javascript(Shown):
    mime = "application/javascript"


class JSON(Shown):
    mime = "application/json"


class Pretty(Shown):
    pass


class Image(Shown):
    binary = True

    def __init__(self, data=None, url=None, filename=None, format=None, **options):
        if isinstance(data, str):
            data, filename = None, data
        super().__init__(data, url, filename, **options)
        jpeg = format in ("jpeg", "jpg") or (format is None and (self.data or b"").startswith(b"\xff\xd8"))
        self.mime = "image/jpeg" if jpeg else "image/png"
