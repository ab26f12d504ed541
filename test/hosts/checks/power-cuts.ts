// Power cuts: a machine dies while it acknowledges creations; acknowledged objects exist after the next boot.
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom, type Random } from '../../support/random.ts';
import { expectSame, type Check } from '../check.ts';
import type { Machine } from '../machine.ts';
import { answers, api, operations } from './shell.ts';

const cuts = Number(process.env['GANTRY_HOSTS_CUTS'] ?? 3);
const kinds = ['profile', 'volume', 'image', 'container', 'file'];

/** Creates objects of each kind until it dies, and prints acknowledged ones on the console. */
const writer = `#!/bin/bash
${operations}
round=$1
put() { ${api} -X POST -d "{\\"name\\":\\"$2\\"}" "http://gantryd/1.0/$1"; }
make_profile() { put profiles $1 | grep -q '"status_code":200'; }
make_volume() { put storage-pools/quick/volumes/custom $1 | grep -q '"status_code":200'; }
make_container() { operation POST /1.0/containers "{\\"name\\":\\"$1\\",\\"source\\":{\\"type\\":\\"none\\"},\\"devices\\":{\\"root\\":{\\"type\\":\\"disk\\",\\"path\\":\\"/\\",\\"pool\\":\\"quick\\"}}}" | grep -q '"status":"Success"'; }
make_file() { ${api} -X POST -H 'X-LXD-type: file' --data-binary "$1" "http://gantryd/1.0/containers/db/files?path=/root/$1" | grep -q '"status_code":200'; }
make_image() {
  tree=/run/writer-$1; mkdir -p $tree/rootfs; head -c 50000 /dev/urandom >$tree/rootfs/content
  printf 'architecture: x86_64\\ncreation_date: 1\\n' >$tree/metadata.yaml; tar -C $tree -cf $tree.tar metadata.yaml rootfs
  made=$(sha256sum $tree.tar | cut -d' ' -f1); rm -r $tree
  url=$(${api} -X POST -H 'Content-Type: application/octet-stream' --data-binary @$tree.tar http://gantryd/1.0/images | grep -o '"operation":"[^"]*"' | cut -d'"' -f4)
  rm $tree.tar; ${api} "http://gantryd$url/wait" | grep -q '"status":"Success"'
}
for kind in ${kinds.join(' ')}; do
  (while n=$((n + 1)); do made=$kind-$round-$n; make_$kind $made && echo "acknowledged $kind $made" >/dev/ttyS0; done) &
done
wait
`;

/** Reads names of acknowledged objects, and prints missing and changed ones. */
const reader = `
there() { [ "$(${api} -o /dev/null -w '%{http_code}' "http://gantryd/1.0/$1")" = 200 ]; }
while read -r kind name; do
  case $kind in
    profile) there profiles/$name ;;
    volume) there storage-pools/quick/volumes/custom/$name ;;
    container) there containers/$name ;;
    image) [ "$(${api} http://gantryd/1.0/images/$name/export | sha256sum | cut -d' ' -f1)" = $name ] ;;
    file) [ "$(${api} "http://gantryd/1.0/containers/db/files?path=/root/$name")" = $name ] ;;
  esac || echo "lost: $kind $name"
done`;

async function acknowledged(host: Machine): Promise<string[]> {
  return [...(await host.console()).matchAll(/^acknowledged (\w+ [\w-]+)\r?$/gm)].flatMap(([, what = '']) => what);
}

/** Cuts the power during a round: a random time after each kind has an acknowledged object. */
async function cutDuring(host: Machine, round: number, random: Random): Promise<void> {
  await host.run(`systemd-run --quiet /bin/bash /var/tmp/writer ${round}`);
  const before = (await acknowledged(host)).length;
  for (const end = Date.now() + 120_000; ; await pause(200)) {
    const made = (await acknowledged(host)).slice(before);
    const absent = kinds.filter((kind) => !made.some((what) => what.startsWith(kind)));
    if (absent.length === 0) break;
    if (Date.now() > end) throw new Error(`in 120 s nothing was acknowledged of: ${absent.join(', ')}`);
  }
  await pause(random.next() * 8000);
  await host.cut();
  await host.run(answers);
}

export const powerCutChecks: readonly Check[] = [
  {
    name: `${cuts} power cuts lose no acknowledged record, image, volume, container or pushed file`,
    async run(host) {
      await host.run(`cat >/var/tmp/writer <<'END'\n${writer}\nEND
        ${api} -X PATCH -d '{"config":{"sync.volumes":"true"}}' http://gantryd/1.0/storage-pools/quick; sync`);
      const random = seededRandom();
      for (let round = 1; round <= cuts; round++) await cutDuring(host, round, random);
      const all = await acknowledged(host);
      const lost = await host.run(`${reader} <<'END'\n${all.join('\n')}\nEND`, 600);
      const counts = kinds.map((kind) => `${kind}s ${all.filter((what) => what.startsWith(kind)).length}`);
      console.log(`${cuts} power cuts (seed ${random.seed}), acknowledged: ${counts.join(', ')}`);
      expectSame(lost, '', 'what was lost');
    },
  },
  {
    name: 'containers that ran before a power cut run again',
    async run(host) {
      await host.run(`until gantry list | grep -c 'Running.*10[.]123' | grep -qx 2; do sleep 1; done`, 120);
    },
  },
];
