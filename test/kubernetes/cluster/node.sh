# The first process of the namespaces that `up` creates. Not for use by hand.
set -eu
# Paths that the programs have built in are hidden, so that those of the machine stay as they are.
mount -t tmpfs tmpfs /run
mkdir /run/containerd && ln -s "$dir/containerd.sock" /run/containerd/containerd.sock
mount --bind "$dir/varlog" /var/log
mount --bind "$dir/varlib" /var/lib
# A part that ends is started again, as on a real machine.
start() {
  name=$1; shift
  while :; do "$@" >>"$dir/log/$name" 2>&1 </dev/null || true; sleep 0.5; done &
}
cd "$dir"
bin=$cache/bin
etcd=http://127.0.0.1:$((port + 1))
peer=http://127.0.0.1:$((port + 2))

ETCD_UNSUPPORTED_ARCH=$(sed 's/.* //' "$bin/VERSION")
export ETCD_UNSUPPORTED_ARCH
start etcd etcd --data-dir "$dir/etcd" --unsafe-no-fsync --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
  --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
start containerd containerd --config "$dir/containerd.toml"
start kube-apiserver "$bin/kube-apiserver" --etcd-servers="$etcd" \
  --bind-address=127.0.0.1 --secure-port=$((port + 3)) --advertise-address="$net.1" \
  --tls-cert-file="$dir/pki/tls.crt" --tls-private-key-file="$dir/pki/tls.key" \
  --client-ca-file="$dir/pki/ca.crt" --token-auth-file="$dir/pki/tokens.csv" \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged \
  --service-cluster-ip-range=10.254.254.0/24 --service-account-issuer=https://kubernetes.default.svc \
  --service-account-key-file="$dir/pki/sa.key" --service-account-signing-key-file="$dir/pki/sa.key" \
  --kubelet-certificate-authority="$dir/pki/ca.crt" --kubelet-preferred-address-types=Hostname \
  --kubelet-client-certificate="$dir/pki/tls.crt" --kubelet-client-key="$dir/pki/tls.key" \
  --cert-dir="$dir/pki"
# Otherwise the kubelet asks the network for credentials. It starts early, because it looks for Docker for 5 seconds.
export AWS_EC2_METADATA_DISABLED=true
start kubelet "$bin/kubelet" --config="$dir/kubelet.yaml" --kubeconfig="$dir/kubelet.kubeconfig" \
  --root-dir="$dir/kubelet" --cert-dir="$dir/pki" --volume-plugin-dir="$dir/kubelet-plugins" \
  --hostname-override=localhost --node-ip="$net.1" \
  --container-runtime=remote --container-runtime-endpoint="unix://$dir/containerd.sock"
tries=600
until kubectl --kubeconfig "$dir/admin.kubeconfig" get --raw /readyz >/dev/null 2>&1; do
  tries=$((tries - 1)); [ $tries -gt 0 ] || exit 1
  sleep 0.2
done
start controller-manager "$bin/kube-controller-manager" --kubeconfig="$dir/controller-manager.kubeconfig" \
  --leader-elect=false --port=0 --secure-port=0 --use-service-account-credentials \
  --service-account-private-key-file="$dir/pki/sa.key" --root-ca-file="$dir/pki/ca.crt"
start scheduler "$bin/kube-scheduler" --kubeconfig="$dir/scheduler.kubeconfig" \
  --leader-elect=false --port=0 --secure-port=0
while :; do wait; sleep 1; done
