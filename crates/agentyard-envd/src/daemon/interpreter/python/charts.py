# The data behind a figure's charts, so that clients can draw them anew.

import math
import re
import sys


def chart_of(figure):
    """The figure's chart; several as one, and nothing where there is none."""
    try:
        axes = [each for each in figure.get_axes() if each.get_label() != "<colorbar>"]
        if not axes:
            return None
        if len(axes) == 1:
            return chart_in(axes[0])
        title = figure._suptitle.get_text() if figure._suptitle else None
        return {"type": "superchart", "title": title or None, "elements": [chart_in(each) for each in axes]}
    except Exception as error:
        sys.stderr.write(f"the figure's data cannot be told: {type(error).__name__}: {error}\n")
        return None


def chart_in(axes):
    for kind, elements_of in (
        ("pie", pie),
        ("box_and_whisker", boxes),
        ("bar", bars),
        ("scatter", scatter),
        ("line", lines),
    ):
        elements = elements_of(axes)
        if elements:
            break
    else:
        kind, elements = "unknown", []
    chart = {"type": kind, "title": axes.get_title() or None}
    if kind in ("line", "scatter"):
        chart.update(labels_of(axes), **scale_of(axes, "x"), **scale_of(axes, "y"))
    elif kind in ("bar", "box_and_whisker"):
        # Of bars that lie, as of those that stand, x is what they are about.
        chart.update(labels_of(axes, turned=lies(axes, kind)))
    chart["elements"] = elements
    return chart


def labels_of(axes, turned=False):
    x, y = axes.get_xlabel() or None, axes.get_ylabel() or None
    if turned:
        x, y = y, x
    return {"x_label": x, "y_label": y, "x_unit": unit_in(x), "y_unit": unit_in(y)}


def unit_in(label):
    found = re.search(r"\(([^()]*)\)|\[([^][]*)\]", label or "")
    return (found.group(1) or found.group(2)) if found else None


def axis_of(axes, direction):
    return axes.xaxis if direction == "x" else axes.yaxis


def scale_of(axes, direction):
    axis = axis_of(axes, direction)
    scale = axis.get_scale()
    kind = converter_of(axis)
    if kind:
        scale = kind
    return {
        f"{direction}_ticks": [in_words(axis, tick) for tick in axis.get_ticklocs()],
        f"{direction}_tick_labels": [label.get_text() for label in axis.get_ticklabels()],
        f"{direction}_scale": scale,
    }


def converter_of(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    name = type(converter).__name__
    if "Date" in name:
        return "datetime"
    return "categorical" if "Category" in name else None


def in_words(axis, number):
    """A place on an axis: a number, or the date that it stands for."""
    if isinstance(number, str) or converter_of(axis) != "datetime":
        return number
    try:
        return sys.modules["matplotlib.dates"].num2date(number).isoformat()
    except (TypeError, ValueError):
        return number


def label_at(axis, place):
    """What is written at a place of an axis, or near it where words are written; else the number or the date."""
    if type(axis.get_major_formatter()).__name__ in ("StrCategoryFormatter", "FixedFormatter", "FuncFormatter"):
        ticks = zip(axis.get_ticklocs(), axis.get_ticklabels())
        near = min(((abs(tick - place), label.get_text()) for tick, label in ticks), default=(1, ""))
        if near[0] <= 0.5 and near[1]:
            return near[1]
    place = in_words(axis, place)
    return place if isinstance(place, str) else f"{place:g}"


def named(label, hidden, words):
    """A label, or one made up where matplotlib made one up."""
    label = str(label)
    return f"{words} {label[len(hidden):]}" if label.startswith(hidden) else label


def drawn(axes):
    """Lines through the data. Those that go from edge to edge only help to read it."""
    return [line for line in axes.get_lines() if all(line.get_transform().contains_branch_seperately(axes.transData))]


def lines(axes):
    if axes.collections or axes.patches:
        return []
    return [
        {
            "label": named(line.get_label(), "_child", "Line"),
            "points": [[x, y] for x, y in zip(line.get_xdata(orig=True), line.get_ydata(orig=True))],
        }
        for line in drawn(axes)
    ]


def scatter(axes):
    found = [each for each in axes.collections if type(each).__name__ == "PathCollection"]
    if len(found) != len(axes.collections) or drawn(axes) or axes.patches:
        return []
    return [
        {
            "label": named(each.get_label(), "_child", "Scatter"),
            "points": [[in_words(axes.xaxis, x), in_words(axes.yaxis, y)] for x, y in each.get_offsets().tolist()],
        }
        for each in found
    ]


def pie(axes):
    if not axes.patches or any(type(patch).__name__ != "Wedge" for patch in axes.patches):
        return []
    return [
        {"label": wedge.get_label(), "angle": round(abs(wedge.theta2 - wedge.theta1), 4), "radius": wedge.r}
        for wedge in axes.patches
    ]


def bar_containers(axes):
    return [each for each in axes.containers if type(each).__name__ == "BarContainer"]


def bars(axes):
    elements = []
    for container in bar_containers(axes):
        group = named(container.get_label(), "_container", "Group")
        for bar in container.patches:
            if container.orientation == "horizontal":
                label, value = label_at(axes.yaxis, bar.get_y() + bar.get_height() / 2), bar.get_width()
            else:
                label, value = label_at(axes.xaxis, bar.get_x() + bar.get_width() / 2), bar.get_height()
            elements.append({"label": label, "group": group, "value": value})
    return elements


def lies(axes, kind):
    if kind == "bar":
        return any(each.orientation == "horizontal" for each in bar_containers(axes))
    return boxes_along(axes, 0) is None


def boxes(axes):
    if not axes.patches or any(type(patch).__name__ != "PathPatch" for patch in axes.patches):
        return []
    return boxes_along(axes, 0) or boxes_along(axes, 1) or []


def boxes_along(axes, across):
    """Boxes that stand (across is 0) or lie (1): each with its lines, or nothing if one has not all of them."""
    elements = []
    for patch in axes.patches:
        corners = [list(map(float, corner)) for corner in patch.get_path().vertices[:4]]
        left, right = span(corner[across] for corner in corners)
        low, high = span(corner[1 - across] for corner in corners)
        box = {"label": label_at((axes.xaxis, axes.yaxis)[across], (left + right) / 2)}
        box.update(first_quartile=low, third_quartile=high, outliers=[])
        for line in axes.get_lines():
            data = [list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))]
            places, values = data[across], data[1 - across]
            if places and left <= min(places) and max(places) <= right:
                add_line(box, places, values, line.get_linestyle(), (left, right))
        if not {"min", "median", "max"} <= box.keys():
            return None
        elements.append(box)
    return elements


def add_line(box, places, values, style, width):
    low, high = box["first_quartile"], box["third_quartile"]
    if style in ("None", "none", "", " "):
        box["outliers"] += values
    elif len(values) != 2:
        return
    elif all(map(math.isclose, sorted(places), width)) and low <= values[0] == values[1] <= high:
        box["median"] = values[0]
    elif places[0] == places[1] and "min" not in box and math.isclose(max(values), low):
        box["min"] = min(values)
    elif places[0] == places[1] and math.isclose(min(values), high):
        box["max"] = max(values)


def span(numbers):
    numbers = sorted(numbers)
    return numbers[0], numbers[-1]
