// `gantry image import|copy|publish`: creates images on a server.
import type { Run, Context, Output, RunOf } from '../../session/context.ts';
import { readFile } from 'node:fs/promises';
import type { ImageCreate } from '../../../../server/api/image/image.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { parsePairs } from '../../flags/parse-values.ts';
import type { ImageCopyOptions, ImageImportOptions, imagePublish } from './image-verbs.ts';
import { withClient } from '../../session/connect.ts';
import { usageError } from '../../errors/usage-error.ts';
import { fileError } from '../../../../server/lib/shared/error-code.ts';
import { putAlias } from './image-change.ts';
import { parseImageWord, readRemotes } from '../../session/remotes.ts';
import { uploadProgress } from '../../session/upload-progress.ts';
import { needReadableFile } from '../../errors/readable-file.ts';
import { followOperation } from '../../session/follow-operation.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const importImage: Run<ImageImportOptions> = async (context, [file = '', rootfs]) => {
  const given = context.options;
  const properties = parsePairs('--property', given.property);
  if (/^https?:\/\//.test(file)) {
    if (rootfs !== undefined) throw usageError('An address names a whole image: omit the second file');
    return make(context, { ...factsOf(given), source: { type: 'url', url: file } });
  }
  for (const path of [file, ...(rootfs === undefined ? [] : [rootfs])])
    await needReadableFile(path, 'an image, which is one file or two: metadata and root file system');
  const files = rootfs === undefined ? { file } : { metadata: file, rootfs };
  const onProgress = uploadProgress(context, file);
  const upload = { files, properties, onProgress, ...(given.public === true ? { public: true } : {}) };
  await withClient(context, async (client) => {
    const { fingerprint } = await followOperation(context, client, () => client.uploadImage(upload, context.stop));
    for (const alias of given.alias ?? []) await putAlias(client, alias, fingerprint, context.stop);
    printFingerprint(context, fingerprint);
  });
  return exitCodes.ok;
};

export const copyImage: Run<ImageCopyOptions> = async (context, [name = '']) => {
  const given = context.options;
  const { server, protocol, alias } = await placeOf(context, name);
  const certificate = given.fromCert === undefined ? undefined : await readText(given.fromCert);
  return make(context, {
    ...factsOf(given),
    ...(given.autoUpdate === true ? { auto_update: true } : {}),
    ...(given.copyAliases === true ? { copy_aliases: true } : {}),
    source: {
      type: 'image',
      mode: 'pull',
      server,
      // Servers assume their own protocol by default.
      ...withoutUndefined({ protocol }),
      alias,
      ...withoutUndefined({ certificate, secret: given.secret }),
    },
  });
};

/** The server of --from, or the remote before the colon. */
async function placeOf(
  { options: { from, protocol }, io }: Context<ImageCopyOptions>,
  name: string,
): Promise<{ readonly server: string; readonly protocol?: string; readonly alias: string }> {
  if (from !== undefined) return { server: from, alias: name, ...withoutUndefined({ protocol }) };
  const { remote, alias } = parseImageWord(name, await readRemotes(io.env));
  if (remote === undefined)
    throw usageError(`${name} names no server: write REMOTE:${name} (gantry remote list), or --from URL`);
  return { server: remote.url, alias, protocol: protocol ?? remote.protocol };
}

export const publishImage: RunOf<typeof imagePublish> = async (context, [name = '']) => {
  const given = context.options;
  return make(context, {
    ...factsOf(given),
    ...withoutUndefined({ compression_algorithm: given.compression }),
    source: { type: name.includes('/') ? 'snapshot' : 'container', name },
  });
};

async function make(context: Context<HostOptions>, body: ImageCreate): Promise<void> {
  await withClient(context, async (client) => {
    const { fingerprint } = await followOperation(context, client, () =>
      client.create('image', body, {}, context.stop),
    );
    printFingerprint(context, fingerprint);
  });
}

function printFingerprint(context: Output, fingerprint: string): void {
  context.jsonObjects({ fingerprint });
  context.out(fingerprint);
}

const factsOf = (given: ImageImportOptions): Omit<ImageCreate, 'source'> => ({
  ...(given.public === true ? { public: true } : {}),
  aliases: (given.alias ?? []).map((name) => ({ name })),
  properties: parsePairs('--property', given.property),
});

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    throw fileError(`Cannot read ${path}`, error);
  });
