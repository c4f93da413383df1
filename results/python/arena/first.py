class Policy:
    """The most urgent queue first, one job at a time; what is late already is dropped."""

    name = "first"

    # EVOLVE-BLOCK-START
    def decide(self, platform):
        queues = [q for q in range(platform.workload.queue_count) if platform.queue_length(q)]
        if not queues:
            return False
        urgent = min(queues, key=lambda queue: platform.job(queue, 0).deadline)
        if platform.job(urgent, 0).deadline < platform.now():
            return platform.drop(urgent, 0)
        function = platform.queue_function(urgent)
        least = platform.workload.functions[function].minimum_configuration
        for warm in (True, False):
            invoker = platform.best_fit(function, least, warm)
            if invoker is not None:
                return platform.dispatch(urgent, 1, least, invoker)
        return False
    # EVOLVE-BLOCK-END
