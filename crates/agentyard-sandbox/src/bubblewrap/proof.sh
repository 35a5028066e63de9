# Tries what must not be possible in a sandbox, and tells what came of each: a name, an equals sign, and what was found.
# Only what every shell has is used; of `unshare` and `mount` it does not matter why they fail.
{
    while read -r name value; do
        case "$name" in
            Uid: | Gid: | CapInh: | CapPrm: | CapEff: | CapBnd: | CapAmb: | NoNewPrivs: | Seccomp:)
                set -- $value
                echo "${name%:}=$*"
                ;;
        esac
    done
} < /proc/self/status

interfaces=
while read -r line; do
    case "$line" in
        *:*) interfaces="$interfaces ${line%%:*}" ;;
    esac
done < /proc/net/dev
echo "interfaces=${interfaces# }"

set -- /proc/[0-9]*
echo "processes=$#"
set -- /proc/self/fd/*
echo "descriptors=$#"
set -- /home/*
echo "homes=$*"

environment=
IFS= read -r environment < /proc/1/environ
echo "environment=$environment"

attempt() {
    if "$@" > /dev/null 2>&1; then echo "$name=done"; else echo "$name=refused"; fi
}
written() { (: >> "$1"); }
read_from() { (: < "$1"); }
name=write_system attempt written /usr/agentyard
name=write_root attempt written /agentyard
name=write_settings attempt written /etc/passwd
name=write_kernel attempt written /proc/sys/kernel/core_pattern
name=write_devices attempt written /dev/agentyard
name=read_shadow attempt read_from /etc/shadow
name=terminal attempt read_from /dev/tty
name=namespace attempt unshare --user true
name=mount attempt mount -t tmpfs none /tmp
echo "core=$(ulimit -c)"
echo "files=$(ulimit -n)"
echo "end="
