"""Patient rule induction (Friedman and Fisher 1999): the boxes of a space in which a yes-or-no outcome is frequent.

A point is a tuple with a value for each axis: a number, or a text on an axis of categories. A box is {axis: (low, high)}, with
None for no bound, or {axis: set of categories}. Axes that a box does not name are free.
"""

from math import ceil, log, sqrt

PEELED = 0.05  # share of the box's points that a peel takes off


def inside(box, point):
    return all(point[axis] in side if isinstance(side, (set, frozenset)) else
               (side[0] is None or point[axis] >= side[0]) and (side[1] is None or point[axis] <= side[1])
               for axis, side in box.items())


def wilson(hits, count):
    """Wilson's 95 % interval of a share."""
    if count == 0:
        return 0.0, 1.0
    z, share = 1.959964, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def likelihood(hits, count):
    return sum(part * log(part / count) for part in (hits, count - hits) if part > 0)


class Search:
    """Boxes of the points in which the labels are more often true than outside."""

    def __init__(self, points, labels, least):
        self.points, self.labels, self.least = points, labels, least
        self.count, self.hits = len(points), sum(labels)
        self.axes = range(len(points[0]))
        self.categories = {a: {p[a] for p in points} for a in self.axes if isinstance(points[0][a], str)}

    def score(self, hits, count, bounds):
        """Gain in log-likelihood by a rate of its own in the box, less ln(points) for each bound (as BIC does)."""
        rest, others = self.hits - hits, self.count - count
        if count < self.least or others == 0 or hits * others <= rest * count:
            return 0.0 if count == self.count else float("-inf")
        return likelihood(hits, count) + likelihood(rest, others) - likelihood(self.hits, self.count) - log(self.count) * bounds

    def bounds(self, box):
        return sum(len(self.categories[a] - side) if a in self.categories else sum(end is not None for end in side)
                   for a, side in box.items())

    def box_score(self, box):
        members = [label for point, label in zip(self.points, self.labels) if inside(box, point)]
        return self.score(sum(members), len(members), self.bounds(box))

    def peels(self, members):
        """(axis, points that stay, side) of each peel."""
        take = max(1, ceil(PEELED * len(members)))
        for axis in self.axes:
            if axis in self.categories:
                present = {self.points[i][axis] for i in members}
                for gone in sorted(present) if len(present) > 1 else ():
                    yield axis, [i for i in members if self.points[i][axis] != gone], frozenset(present - {gone})
                continue
            values = sorted(self.points[i][axis] for i in members)
            low = next((v for v in values[take:] if v > values[0]), None)
            high = next((v for v in values[-1 - take::-1] if v < values[-1]), None)
            if low is not None:
                yield axis, [i for i in members if self.points[i][axis] >= low], (low, None)
            if high is not None:
                yield axis, [i for i in members if self.points[i][axis] <= high], (None, high)

    def peel(self):
        """The box of the best score on the way inwards. Each peel gains most density for each point that it takes off."""
        box, members, best = {}, list(range(self.count)), ({}, 0.0)
        while len(members) > self.least:
            density, chosen = sum(self.labels[i] for i in members) / len(members), None
            for axis, stay, side in self.peels(members):
                if len(stay) >= self.least:
                    gain = (sum(self.labels[i] for i in stay) / len(stay) - density) / (len(members) - len(stay))
                    if chosen is None or gain > chosen[0]:
                        chosen = gain, axis, stay, side
            if chosen is None:
                break
            _, axis, members, side = chosen
            if isinstance(side, tuple):
                before = box.get(axis, (None, None))
                side = tuple(before[end] if side[end] is None else side[end] for end in (0, 1))
            box = {**box, axis: side}
            score = self.box_score(box)
            if score > best[1]:
                best = box, score
        return best

    def side_of_numbers(self, axis, members, others):
        """The interval of the best score where the other axes stay: first its low end, then its high end, and again."""
        members = sorted(members, key=lambda i: self.points[i][axis])
        values = [self.points[i][axis] for i in members]
        sums = [0]
        for i in members:
            sums.append(sums[-1] + self.labels[i])
        cuts = [i for i in range(1, len(values)) if values[i] > values[i - 1]]
        last = len(values)

        def worth(low, high):
            return self.score(sums[high] - sums[low], high - low, others + (low > 0) + (high < last))

        low, high = max(((low, last) for low in [0, *cuts]), key=lambda ends: worth(*ends))
        other = max(((0, high) for high in [*cuts, last]), key=lambda ends: worth(*ends))
        best = (float("-inf"), 0, last)
        for low, high in ((low, high), other):
            for _ in range(4):
                high = max((cut for cut in [*cuts, last] if cut > low), key=lambda cut: worth(low, cut))
                low = max((cut for cut in [0, *cuts] if cut < high), key=lambda cut: worth(cut, high))
            best = max(best, (worth(low, high), low, high))
        score, low, high = best
        ends = tuple(None if cut in (0, last) else (values[cut - 1] + values[cut]) / 2 for cut in (low, high))
        return score, None if ends == (None, None) else ends

    def side_of_categories(self, axis, members, others):
        """The set of categories of the best score: those of the highest rates."""
        tally = {c: [0, 0] for c in self.categories[axis]}
        for i in members:
            tally[self.points[i][axis]][0] += self.labels[i]
            tally[self.points[i][axis]][1] += 1
        order = sorted(tally, key=lambda c: (-tally[c][0] / max(1, tally[c][1]), c))
        best, hits, count = (float("-inf"), None), 0, 0
        for place, category in enumerate(order, 1):
            hits, count = hits + tally[category][0], count + tally[category][1]
            score = self.score(hits, count, others + len(order) - place)
            if score > best[0]:
                best = score, None if place == len(order) else frozenset(order[:place])
        return best

    def paste(self, box, score):
        """Each side in turn goes to where the score is best, out or in, until none gains. A bound that does not pay goes."""
        gained = True
        while gained:
            gained = False
            for axis in self.axes:
                rest = {a: side for a, side in box.items() if a != axis}
                members = [i for i in range(self.count) if inside(rest, self.points[i])]
                side_of = self.side_of_categories if axis in self.categories else self.side_of_numbers
                better, side = side_of(axis, members, self.bounds(rest))
                if better > score + 1e-9:
                    box, score, gained = {**rest, **({axis: side} if side is not None else {})}, better, True
        return box

    def find(self):
        """The box of the best score, {} if none pays for its bounds."""
        return self.paste(*self.peel())


def cover(points, labels, most, least=10):
    """Boxes one after the other, each found in the points that those before leave."""
    boxes = []
    while len(boxes) < most:
        left = [i for i, point in enumerate(points) if not any(inside(box, point) for box in boxes)]
        box = {}
        if len(left) > least and any(labels[i] for i in left):
            box = Search([points[i] for i in left], [labels[i] for i in left], least).find()
        if not box:
            break
        boxes.append(box)
    return boxes
