"""Networks of a law: ((floor)^4 + (work (0.3 + batch) / (part + 0.02))^4)^(1/4) ms on a part of the GPU."""
import types, torch  # noqa: E401

LAWS = {"small": (1.0, 0.05), "large": (0.5, 0.4), "raises": (1.0, 1.0)}

class Network:
    def __init__(self, name):
        self.name, self.weights, self.evaluating, self.laws = name, torch.Tensor((1 << 20,)), False, {}

    def changed(self, **changes):
        vars(self).update(changes)
        return self
    state_dict = lambda self: {"weights": self.weights}
    def load_state_dict(self, weights, assign):
        torch.check(assign, "a copy into what has no memory")
        self.weights = weights["weights"]
    parameters = lambda self: [self.weights]
    buffers = lambda self: []
    eval = lambda self: self.changed(evaluating=True)
    cuda = lambda self: self.changed(weights=self.weights.cuda())
    half = lambda self: self.changed(weights=self.weights.half())
    to = lambda self, memory_format: self.changed(weights=self.weights.to(memory_format))
    def __call__(self, images):
        torch.check(self.evaluating and self.weights.on_gpu and images.on_gpu, "not in evaluation, or on the CPU")
        torch.check((self.weights.is_half, self.weights.layout) == (images.is_half, images.layout), "mixed kinds")
        if self.name == "raises":
            raise ValueError("this network cannot run")
        floor, work = LAWS[self.name]
        batch = images.shape[0]
        activations = torch.Tensor((batch, 1 << 18), True)
        torch.launch(self.laws.setdefault(batch, lambda part: (
            floor ** 4 + (work * (.3 + batch) / (part + .02)) ** 4) ** .25), [self.weights, images])
        return activations

models = types.SimpleNamespace(list_models=lambda: list(LAWS), get_model_builder=lambda name: lambda weights: Network(name))
