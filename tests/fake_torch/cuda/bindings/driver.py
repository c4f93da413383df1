"""Green contexts of a GPU of 132 multiprocessors in groups of 8."""
import types, weakref, torch  # noqa: E401

SMS, GROUP, OK = 132, 8, 0
CUdevResourceType = types.SimpleNamespace(CU_DEV_RESOURCE_TYPE_SM=1)
CUgreenCtxCreate_flags = types.SimpleNamespace(CU_GREEN_CTX_DEFAULT_STREAM=1)
CUstream_flags = types.SimpleNamespace(CU_STREAM_NON_BLOCKING=1)

def resource(count, split=None, place=0):
    return types.SimpleNamespace(sm=types.SimpleNamespace(smCount=count), split=split, place=place)

def cuDeviceGet(ordinal):
    torch.check(torch.state.peak > 0, "a driver call before the primary context")
    return OK, ordinal

def cuDeviceGetDevResource(device, kind):
    torch.check((device, kind) == (0, 1), "another device or resource")
    return OK, resource(SMS)

def cuDevSmResourceSplitByCount(count, whole, flags, least):
    torch.check(whole.split is None and flags == 0 and 0 < least <= GROUP, "a split that is not of the whole")
    made, split = SMS // GROUP, object()
    groups = [resource(GROUP, split, i) for i in range(min(count, made))]
    return OK, groups, len(groups) if count else made, resource(SMS - GROUP * len(groups))

def cuDevResourceGenerateDesc(groups, count):
    torch.check(count == len(groups) > 0 and len({g.split for g in groups} - {None}) == 1, "groups of several splits")
    return OK, frozenset(g.place for g in groups)

def cuGreenCtxCreate(groups, device, flags):
    torch.check((device, flags) == (0, 1), "a green context needs CU_GREEN_CTX_DEFAULT_STREAM")
    return OK, type("Context", (), {"groups": groups})()

def cuGreenCtxStreamCreate(context, flags, priority):
    torch.check((flags, priority) == (1, 0), "a stream of a green context needs CU_STREAM_NON_BLOCKING")
    handle = 1000 + len(torch.state.streams)
    part = GROUP * len(context.groups) / SMS
    torch.state.streams[handle] = torch.Stream(context.groups, part, weakref.ref(context))
    return OK, handle
