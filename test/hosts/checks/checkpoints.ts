// Checkpoints with the CRIU of the release: a process continues counting, also from a snapshot and on another daemon.
import { expectMatch, type Check } from '../check.ts';
import { installing } from '../packages-disk.ts';
import { apply, operations } from './shell.ts';

export const checkpointPackages = ['criu', 'iptables', 'etcd-server'] as const;

/** Counts five times a second in /count, and its starts by the lines of /starts, as a child of init, since CRIU cannot store processes of outside commands. */
const counting =
  '#!/bin/sh\\necho >>/starts\\n(n=0; while true; do n=$((n+1)); echo $n >/count; sleep 0.2; done) </dev/null >/dev/null 2>&1 &\\n';

const counter = (name: string, more: string): string => `kind: container
name: ${name}
source: { type: image, alias: quick/busybox }
config: { raw.lxc: lxc.console.path = none }
files: [{ path: /etc/init.d/rcS, content: "${counting}", mode: "0755" }]
${more}`;

const plain = 'profiles: []\ndevices: { root: { type: disk, path: /, pool: quick } }\nstate: stopped';

/** Defines `count ARGUMENTS OF EXEC`, which prints the number, and `power NAME BODY`, which waits for success. */
const words = `${operations}
  count() { gantry exec "$@" -- cat /count; }
  power() { said=$(operation PUT /1.0/containers/$1/state "$2"); echo "$said" >&2; [[ $said == *'"err":""'* ]]; }`;

const socketOf = (name: string): string => `unix:///var/lib/${name}/unix.socket`;
const other = socketOf('other');
const [one, two] = [socketOf('one'), socketOf('two')];

/** Another daemon on the same host, which ends with its unit; its containers do not. */
const starting = (name: string): string => `
  systemd-run -q --unit lane-${name} -p KillMode=process -p Delegate=yes gantryd --state-dir /var/lib/${name}
  until gantry get pool --host ${socketOf(name)} >/dev/null 2>&1; do sleep 1; done`;

function expectGrowth(text: string): void {
  const numbers = text.split('\n').filter((line) => /^\d+$/.test(line));
  const [before = NaN, after = NaN, later = NaN] = numbers.slice(-3).map(Number);
  if (!(before > 5 && after >= before && later > after)) throw new Error(`it did not count on: ${text}`);
}

export const checkpointChecks: readonly Check[] = [
  {
    name: 'a stateful stop and start with a nic: a process counts on from where it was',
    vital: true,
    async run(host) {
      await host.run(installing(...checkpointPackages), 600);
      await host.run(apply('counter', counter('counter', 'profiles: [quick]\nstate: running')));
      expectGrowth(
        await host.run(
          `${words}
          until [ "$(count counter)" -gt 5 ]; do sleep 1; done; count counter
          power counter '{"action":"stop","stateful":true,"timeout":300}'
          power counter '{"action":"start","stateful":true}'
          count counter; sleep 2; count counter`,
          600,
        ),
      );
    },
  },
  {
    name: 'a container that was restored is stored and restored again',
    async run(host) {
      expectGrowth(
        await host.run(
          `${words}
          count counter
          power counter '{"action":"stop","stateful":true,"timeout":300}'
          power counter '{"action":"start","stateful":true}'
          count counter; sleep 2; count counter`,
          600,
        ),
      );
    },
  },
  {
    name: 'a stateful snapshot brings a process back to its number',
    async run(host) {
      await host.run(
        `${words}
        until [ "$(count counter)" -gt 5 ]; do sleep 1; done
        operation POST /1.0/containers/counter/snapshots '{"name":"then","stateful":true}' | grep '"err":""'
        gantry exec counter -- touch /later
        operation PUT /1.0/containers/counter '{"restore":"then","stateful":true}' | grep '"err":""'
        [ "$(count counter)" -gt 5 ]; ! gantry exec counter -- ls /later 2>&1`,
        600,
      );
    },
  },
  {
    name: 'a running container moves to another daemon and back, and counts on',
    async run(host) {
      await host.run(starting('other'));
      await host.run(apply('other', 'kind: storage_pool\nname: quick\ndriver: dir', `--host ${other}`));
      await host.run(apply('mover', counter('mover', plain)));
      expectGrowth(
        await host.run(
          `${words}
          gantry start mover; until [ "$(count mover)" -gt 5 ]; do sleep 1; done; count mover
          gantry move mover --target-host ${other} >/dev/null
          count --host ${other} mover; sleep 2; count --host ${other} mover
          gantry move mover --host ${other} --target-host unix:///var/lib/gantry/unix.socket >/dev/null
          count mover; sleep 2; count mover`,
          900,
        ),
      );
      await host.run('gantry delete --force -y mover; systemctl stop lane-other');
    },
  },
  {
    name: 'a running container moves to another member of a cluster by an evacuation and back by a restore, and counts on',
    async run(host) {
      // The package starts an etcd of its own; the members run theirs.
      await host.run(
        `systemctl disable -q --now etcd${starting('one')}${starting('two')}
        gantry cluster bootstrap one --host ${one} --address 127.0.0.1:8543 >/dev/null
        gantry cluster add two --host ${one} | gantry cluster join - --host ${two} --address 127.0.0.1:8553 >/dev/null
        gantry image export quick/busybox /var/tmp/busybox >/dev/null
        gantry image import /var/tmp/busybox --alias quick/busybox --host ${one} >/dev/null; rm /var/tmp/busybox`,
        600,
      );
      const documents = `kind: storage_pool\nname: quick\ndriver: dir\n---\n${counter('drifter', `target: one\n${plain}`)}`;
      await host.run(apply('members', documents, `--host ${one}`), 300);
      const text = await host.run(
        `${words}
          where() { gantry show container/drifter --host ${two} | grep "location: $1"; }
          gantry start drifter --host ${one}; until [ "$(count --host ${one} drifter)" -gt 100 ]; do sleep 1; done
          count --host ${one} drifter
          gantry cluster evacuate one --mode live-migrate --host ${one} >/dev/null; where two
          gantry cluster restore one --host ${one} >/dev/null; where one
          count --host ${two} drifter; sleep 2; count --host ${two} drifter
          echo "starts: $(gantry exec --host ${two} drifter -- grep -c ^ /starts)"`,
        900,
      );
      expectGrowth(text);
      expectMatch(text, /^starts: 1$/m, 'how often its init started');
      await host.run(`gantry delete --force -y drifter --host ${one}; systemctl stop lane-one lane-two`, 120);
    },
  },
];
