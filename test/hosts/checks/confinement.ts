// Guests that try to escape, under the AppArmor profile that the daemon makes for each container.
import { expectMatch, expectSame, type Check } from '../check.ts';
import type { Machine } from '../machine.ts';
import { api, operations } from './shell.ts';

const manifest = `cat >/var/tmp/guests.yaml <<'END'
kind: container
name: free
profiles: [quick]
source: { type: image, alias: quick/busybox }
config:
  security.privileged: true
  raw.apparmor: deny /root/secret rw,
END
gantry apply -f /var/tmp/guests.yaml --set guests --auto-approve`;

/** Prints for each attempt whether it worked. A privileged container has no user namespace, so only its profile stops it. */
const attempts = `
try() { what=$1; shift; if ("$@") >/dev/null 2>&1; then echo "$what: done"; else echo "$what: refused"; fi; }
put() { echo "$1" >"$2"; }
mkdir -p /tmp/place
mount -t proc proc /proc
mount -o remount,rw /sys
try "write a sysctl" put 5 /proc/sys/kernel/panic
try "name a program for the kernel to run" put /tmp/x /proc/sys/kernel/core_pattern
try "name a helper for events" put /tmp/x /sys/kernel/uevent_helper
try "call the kernel" put h /proc/sysrq-trigger
try "read the memory of the kernel" head -c 1 /proc/kcore
try "mount proc elsewhere" mount -t proc proc /tmp/place
try "mount sysfs elsewhere" mount -t sysfs sysfs /tmp/place
try "bind proc elsewhere" mount -o bind /proc /tmp/place
try "bind all and write a sysctl there" sh -c "mount -o rbind / /tmp/place && echo 5 >/tmp/place/proc/sys/kernel/panic"
try "mount debugfs" mount -t debugfs debugfs /tmp/place
try "read what raw.apparmor denies" cat /root/secret
try "make the folder of its socket writable" mount -o remount,rw /dev/lxd
try "make its mount writable" mount -o remount,bind,rw /dev/lxd
try "bind it elsewhere" mount -o bind /dev/lxd /tmp/place
try "write beside its socket" touch /dev/lxd/more
try "set its host name" hostname other
try "mount a tmpfs" mount -t tmpfs tmpfs /tmp/place
try "bind a folder" mount -o bind /etc /tmp/place
try "signal its own processes" kill -0 1
try "look at its own processes" readlink /proc/1/exe
`;

const outcome = `write a sysctl: refused
name a program for the kernel to run: refused
name a helper for events: refused
call the kernel: refused
read the memory of the kernel: refused
mount proc elsewhere: refused
mount sysfs elsewhere: refused
bind proc elsewhere: refused
bind all and write a sysctl there: refused
mount debugfs: refused
read what raw.apparmor denies: refused
make the folder of its socket writable: refused
make its mount writable: refused
bind it elsewhere: refused
write beside its socket: refused
set its host name: done
mount a tmpfs: done
bind a folder: done
signal its own processes: done
look at its own processes: done`;

const profiles = `sed -n 's/^\\(lxc-gantry-[^ ]*\\) .*/\\1/p' /sys/kernel/security/apparmor/profiles`;

/** Expects the profiles and namespaces of these containers, which have equal names. */
async function expectProfilesOf(host: Machine, names: readonly string[]): Promise<void> {
  const found = await host.run(`${profiles} | sort; ls /sys/kernel/security/apparmor/policy/namespaces | sort`);
  const wanted = names.map((name) => `lxc-gantry-TAG-${name}`).join('\n');
  expectSame(found.replaceAll(/gantry-[0-9a-f]{8}-/g, 'gantry-TAG-'), `${wanted}\n${wanted}`, 'the profiles');
}

export const confinementChecks: readonly Check[] = [
  {
    name: 'each running container has a profile of its own',
    async run(host) {
      await expectProfilesOf(host, ['db', 'web']);
    },
  },
  {
    name: 'a privileged guest cannot leave, and does what it may',
    async run(host) {
      await host.run(manifest);
      await host.run('gantry exec free -- sh -c "echo x >/root/none"');
      const text = await host.run(
        `cat >/var/tmp/attempts <<'END'\n${attempts}\nEND\ngantry file push /var/tmp/attempts free/root/attempts && gantry exec free -- sh /root/attempts 2>/dev/null`,
        90,
      );
      expectSame(text, outcome, 'what the guest could do');
    },
  },
  {
    name: 'a process under the profile of a container neither signals nor traces those of the host',
    async run(host) {
      const text = await host.run(`
        sleep 1000 & victim=$!; trap 'kill $victim' EXIT
        (printf 'changeprofile %s' "$(${profiles} | grep free)" >/proc/self/attr/current
          kill -9 $victim 2>/dev/null && echo signalled || echo "no signal"
          [ -r /proc/$victim/environ ] && read -r -n 1 x </proc/$victim/environ && echo looked || echo "no look") 2>/dev/null
        kill -0 $victim && echo alive`);
      expectSame(text, 'no signal\nno look\nalive', 'what it could do');
    },
  },
  {
    name: 'a profile goes with its container, and a start that fails leaves none',
    async run(host) {
      const failed = await host.run(`${operations}
        operation PUT /1.0/containers/free/state '{"action":"stop","force":true}' >/dev/null
        ${api} -X DELETE 'http://gantryd/1.0/containers/free/files?path=/sbin/init'
        operation PUT /1.0/containers/free/state '{"action":"start"}'`);
      expectMatch(failed, /"status":"Failure"/, 'the start of a container without an init');
      await expectProfilesOf(host, ['db', 'web']);
      await host.run('gantry destroy -f /var/tmp/guests.yaml --set guests --auto-approve');
      await host.run('rm /var/tmp/guests.yaml /var/tmp/attempts');
    },
  },
];
