#!/bin/sh
# What containerd runs for the RuntimeClass gvisor. Debian's runsc comes without containerd-shim-runsc-v1, and the shim of
# runc knows nothing about containers inside a sandbox, so each container becomes a sandbox of its own, as with Docker.
# --network=host means the network of the pod; runsc's own stack does not work with newer kernels.
command=; previous=
for argument in "$@"; do
  case $argument in create | kill) command=${command:-$argument} ;; esac
  if [ "$command" = create ] && [ "$previous" = --bundle ]; then
    sed -i 's/"io.kubernetes.cri.container-type":"container"/"io.kubernetes.cri.container-type":"sandbox"/' "$argument/config.json"
  fi
  previous=$argument
done
[ "$command" = kill ] || exec runsc --network=host "$@"
# The shim understands only the words of runc for a container that has ended, and would otherwise never report its end.
output=$(runsc --network=host "$@" 2>&1) || {
  code=$?
  case $output in *"not running"*) output="container not running" ;; esac
  echo "$output" >&2
  exit $code
}
