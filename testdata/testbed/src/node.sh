# The first process of the node: it has mount, process and network namespaces of its own.
# $1: the test bed's folder, $2: the node's name. containerd, ctr and kubelet: from the environment.
set -e
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/containerd /run/netns /run/lock
mount --bind "$1/log" /var/log
mount -t tmpfs -o mode=755 tmpfs /var/lib
# The kubelet insists on setting these. It finds them set, and the machine's stay as they are.
for file in "$1"/tunables/*; do
    tunable="/proc/sys/$(basename "$file" | tr . /)"
    [ ! -e "$tunable" ] || mount --bind "$file" "$tunable"
done

"$CONTAINERD" --config "$1/containerd.toml" &
socket=/run/containerd/containerd.sock
until "$CTR" --address "$socket" version >/dev/null 2>&1; do
    kill -0 $! || { echo "containerd ended"; exit 1; }
    sleep 0.1
done
for image in "$1"/images/*.tar; do
    "$CTR" --address "$socket" --namespace k8s.io images import "$image"
done
# In the foreground, and not in this shell's place, which reaps what containers leave behind.
"$KUBELET" --config="$1/kubelet.json" --kubeconfig="$3" --root-dir="$1/kubelet" \
    --cert-dir="$1/kubelet/pki" --hostname-override="$2" --node-ip=10.88.0.1
echo "the kubelet ended"
exit 1
