# Settings that the scripts share; sourced, not run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${CLUSTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/parley-test-kubernetes}   # programs are in $cache/bin
dir=${CLUSTER_DIR:-${TMPDIR:-/tmp}/parley-kubernetes}   # everything that belongs to the running cluster
port=${CLUSTER_PORT:-16440}                             # ports $port+1 to $port+6, on loopback
net=${CLUSTER_NET:-10.251.0}                            # the network of pods, a /24; the machine is .1
bridge=${CLUSTER_BRIDGE:-parley-k8s}
group=${CLUSTER_CGROUP:-parley-k8s}                     # the parent of all cgroups of pods
pids=${CLUSTER_PIDS:-512}                               # processes that a pod may have
cni=${CLUSTER_CNI:-/usr/lib/cni}                        # where Debian installs containernetworking-plugins
# The kubelet sets these for the whole machine; `down` restores the old values.
sysctls="kernel/panic kernel/panic_on_oops vm/overcommit_memory vm/panic_on_oom
kernel/keys/root_maxkeys kernel/keys/root_maxbytes net/ipv4/ip_forward"
