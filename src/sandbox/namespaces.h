// Takes a process out of the system's view: no files, no other processes, no network, no
// privileges. For a process with one thread that holds no descriptor it would mind to lose to a
// child.
// @thread the process's only thread; there is no way back
#pragma once

namespace tessera::sandbox {

/// Root becomes nobody (65534), so that a decoder that broke out owns nothing. Does nothing for
/// other users, or where the container does not allow it. The process can still read its own /proc.
void give_up_root();

/// Goes on in a new process that is pid 1 of namespaces of its own (user, mount, pid, net, ipc,
/// uts, cgroup) with an empty read-only root. The old process closes its descriptors from
/// kChildChannelFd on, waits for the new one and ends as that ends; it does not return.
///
/// Without user namespaces (most containers, hardened kernels) the same process returns.
/// @return  true when everything above holds; false when any part of it is missing
/// @cost    ~1–5 ms
bool enter_namespaces();

/// Drops every capability from every set, for good.
void drop_capabilities();

}  // namespace tessera::sandbox
