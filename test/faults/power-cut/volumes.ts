// Writes objects of pools: custom volumes, backups and published images; and, in a pool that syncs its volumes, containers, snapshots
// and pushed files.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../../support/images/remotes.ts';
import { containerIn, containers, contentSum, differs, pools, request, sumOf } from './setting.ts';
import type { Writer } from './writer.ts';

export const volumeWriter: Writer = {
  kind: 'custom volumes',
  async write(server, serial) {
    const volumes = `/1.0/storage-pools/${pools.plain}/volumes`;
    await request(server, 'POST', volumes, { name: `v${serial}`, type: 'custom', config: {} });
    return {
      what: `volume v${serial}`,
      async check(cut) {
        await sumOf(cut, `${volumes}/custom/v${serial}`);
        const dir = join(cut.stateDir, 'storage-pools', pools.plain, 'custom', `v${serial}`);
        return existsSync(dir) ? undefined : `its directory ${dir} is missing`;
      },
    };
  },
};

export const backupWriter: Writer = {
  kind: 'backups',
  async write(server, serial) {
    const backups = `/1.0/containers/${containers.plain}/backups`;
    await request(server, 'POST', backups, { name: `b${serial}`, compression_algorithm: 'none' });
    const path = `${backups}/b${serial}/export`;
    const sum = await sumOf(server, path);
    return { what: `backup b${serial}`, check: (cut) => differs(cut, path, sum) };
  },
};

export const publishWriter: Writer = {
  kind: 'published images',
  async write(server, serial) {
    const source = { type: 'container', name: containers.plain };
    const body = { source, properties: { serial: String(serial) }, compression_algorithm: 'none' };
    const fingerprint = String((await request(server, 'POST', '/1.0/images', body))['fingerprint']);
    return {
      what: `published image ${fingerprint}`,
      check: (cut) => differs(cut, `/1.0/images/${fingerprint}/export`, fingerprint),
    };
  },
};

const largestBytes = 200_000;
const fileUrl = (container: string, path: string): string => `/1.0/containers/${container}/files?path=${path}`;

/**
 * New files, and one file that is overwritten again and again: it must be complete, and have the acknowledged content or a newer one.
 */
export const fileWriter: Writer = {
  kind: 'pushed files (sync.volumes)',
  async write(server, serial, random) {
    const bytes = randomBytes(1 + Math.floor(random.next() * largestBytes));
    const isNew = serial % 2 === 0;
    const url = fileUrl(containers.synced, isNew ? `/file${serial}` : '/current');
    const text = Buffer.concat([Buffer.from(`${serial} ${sha256(bytes)} `), bytes]);
    await request(server, 'POST', url, text);
    return {
      what: isNew ? `file /file${serial}` : `content ${serial} of the file /current`,
      async check(cut) {
        if (isNew) return differs(cut, url, sha256(text));
        return oldOrTorn(readFileSync(rootfsFile(cut.stateDir, 'current')), serial);
      },
    };
  },
};

const rootfsFile = (stateDir: string, name: string): string =>
  join(stateDir, 'storage-pools', pools.synced, 'containers', containers.synced, 'rootfs', name);

function oldOrTorn(found: Buffer, serial: number): string | undefined {
  const [number = '', sum = ''] = found.subarray(0, 100).toString('latin1').split(' ');
  const rest = found.subarray(number.length + sum.length + 2);
  if (sha256(rest) !== sum) return `it is torn: ${found.length} bytes that begin with ${number}`;
  return Number(number) >= serial ? undefined : `it has the older content ${number}`;
}

export const containerWriter: Writer = {
  kind: 'containers (sync.volumes)',
  async write(server, serial) {
    await request(server, 'POST', '/1.0/containers', containerIn(pools.synced, `c${serial}`));
    return {
      what: `container c${serial}`,
      check: (cut) => differs(cut, fileUrl(`c${serial}`, '/content'), contentSum),
    };
  },
};

export const snapshotWriter: Writer = {
  kind: 'snapshots (sync.volumes)',
  async write(server, serial) {
    const snapshots = `/1.0/containers/${containers.synced}/snapshots`;
    await request(server, 'POST', snapshots, { name: `s${serial}` });
    return {
      what: `snapshot s${serial}`,
      async check(cut) {
        await sumOf(cut, `${snapshots}/s${serial}`);
        const folder = join(cut.stateDir, 'storage-pools', pools.synced, 'containers-snapshots', containers.synced);
        const found = sha256(readFileSync(join(folder, `s${serial}`, 'rootfs/content')));
        return found === contentSum ? undefined : `its file has the SHA-256 ${found} instead of ${contentSum}`;
      },
    };
  },
};
