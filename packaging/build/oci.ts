// An image of the Open Container Initiative made of one tree of files, as one archive: the same tree makes the same bytes. Pure but for the layer's file.
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

export interface ImageFacts {
  readonly name: string;
  readonly version: string;
  /** Seconds since 1970. */
  readonly epoch: number;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly user: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

const kind = (name: string): string => `application/vnd.oci.image.${name}`;

/** Files get the time of the image at most, the owners that `tree` has, and an order. */
const packing = (epoch: number): readonly string[] => [
  '--sort=name',
  '--numeric-owner',
  '--format=posix',
  '--pax-option=delete=atime,delete=ctime',
  `--mtime=@${epoch}`,
];

/** Writes `file` from the root file system in `tree`. `work` is an empty folder for its parts, which is gone afterwards. */
export async function writeImage(tree: string, facts: ImageFacts, file: string, work: string): Promise<void> {
  const { epoch, version, labels } = facts;
  const blobs = join(work, 'blobs/sha256');
  mkdirSync(blobs, { recursive: true });
  const layer = join(work, 'layer.tar');
  run('tar', ['-C', tree, ...packing(epoch), '-cf', layer, ...readdirSync(tree).toSorted()]);
  const unpacked = await digestOf(layer);
  run('gzip', ['-n', '-6', layer]);
  const packed = await keep(blobs, `${layer}.gz`);
  const config = keepJson(blobs, configOf(facts, unpacked));
  const manifest = keepJson(blobs, {
    schemaVersion: 2,
    mediaType: kind('manifest.v1+json'),
    config: { mediaType: kind('config.v1+json'), ...config },
    layers: [{ mediaType: kind('layer.v1.tar+gzip'), ...packed }],
    annotations: labels,
  });
  const named = { 'org.opencontainers.image.ref.name': version };
  const entry = { mediaType: kind('manifest.v1+json'), ...manifest, annotations: named };
  writeFileSync(join(work, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  const index = { schemaVersion: 2, mediaType: kind('index.v1+json'), manifests: [entry] };
  writeFileSync(join(work, 'index.json'), JSON.stringify(index));
  const owned = ['--owner=0', '--group=0', '--mode=u=rwX,go=rX'];
  run('tar', ['-C', work, ...packing(epoch), ...owned, '-cf', file, 'blobs', 'index.json', 'oci-layout']);
  rmSync(work, { recursive: true, force: true });
}

function configOf(facts: ImageFacts, unpacked: string) {
  const created = new Date(facts.epoch * 1000).toISOString();
  return {
    created,
    architecture: 'amd64',
    os: 'linux',
    config: {
      User: facts.user,
      Env: Object.entries(facts.environment).map(([name, value]) => `${name}=${value}`),
      Entrypoint: facts.entrypoint,
      Cmd: facts.command,
      WorkingDir: facts.folder,
      ExposedPorts: Object.fromEntries(facts.ports.map((port) => [port, {}])),
      Labels: facts.labels,
    },
    rootfs: { type: 'layers', diff_ids: [unpacked] },
    history: [{ created, created_by: `${facts.name} ${facts.version}` }],
  };
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest('hex')}`;
}

async function keep(blobs: string, file: string): Promise<Blob> {
  const digest = await digestOf(file);
  const { size } = statSync(file);
  renameSync(file, join(blobs, digest.slice('sha256:'.length)));
  return { digest, size };
}

function keepJson(blobs: string, value: object): Blob {
  const bytes = Buffer.from(JSON.stringify(value));
  const hex = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(blobs, hex), bytes);
  return { digest: `sha256:${hex}`, size: bytes.length };
}
