// `gantry edit NAME`: opens a live object as YAML in the user's editor, or reads it from stdin, and replaces the object.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { parseDocument, visit } from 'yaml';
import { validateBody } from '../../../../server/api/schema/validate-json.ts';
import { didYouMean } from '../../../../server/api/text/nearest-word.ts';
import { kindSchemas } from '../../../../server/api/kind-schemas.ts';
import { ClientError } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import { isObject } from '../../../../server/client/transport/reply.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { isNote } from '../../../core/ownership/owner-records.ts';
import { codeOf } from '../../errors/error-outcome.ts';
import { fileError } from '../../../../server/lib/shared/error-code.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, commandError } from '../../errors/usage-error.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { withClient } from '../../session/connect.ts';
import type { Command, Run } from '../../session/context.ts';
import { exactYaml } from '../../../manifest/text/yaml-text.ts';
import { readLiveObject, type LiveObject } from './live-object.ts';
import { nextApplyTexts } from './next-apply.ts';

type Fields = Readonly<Record<string, unknown>>;

export const edit: Run<HostOptions> = (context, [word = '']) =>
  withClient(context, async (client) => {
    const object = await readLiveObject(client, word, context.stop);
    const shown = editableOf(object);
    if (context.io.stdin.isTTY !== true) {
      await send(context, client, object, shown, await readText(context.io.stdin));
      return exitCodes.ok;
    }
    const text = headOf(object) + exactYaml(shown);
    const { folder, file } = await temporaryFile(text);
    try {
      await openEditor(context, file);
      await send(context, client, object, shown, await readFile(file, 'utf8'));
    } catch (error) {
      const left = await readFile(file, 'utf8').catch(() => '');
      // An editor that failed at once leaves nothing worth keeping.
      if (left.trim() === '' || left === text) await rm(folder, { recursive: true, force: true });
      else throw keptError(error, object.address, file);
      throw error;
    }
    await rm(folder, { recursive: true, force: true });
    return exitCodes.ok;
  });

async function temporaryFile(text: string): Promise<{ readonly folder: string; readonly file: string }> {
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), 'gantry-edit-'));
    const file = join(folder, 'object.yaml');
    await writeFile(file, text, { mode: 0o600 });
    return { folder, file };
  } catch (error) {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    throw fileError(`cannot write a text for the editor into ${tmpdir()}, the folder that TMPDIR names`, error);
  }
}

function keptError(error: unknown, address: string, file: string): CliError {
  const code = codeOf(error);
  const what = code === exitCodes.stale ? 'replaces the object of now with it' : 'sends it when it is mended';
  return new CliError(`${reasonOf(error)}. The text is kept: gantry edit ${address} < ${file} ${what}`, code, error);
}

/** Hides keys that the server writes, and the records of sets. */
const isHidden = (key: string): boolean => isNote(key) || key.startsWith('volatile.');

/** The fields that a PUT accepts. */
function editableOf({ kind, live }: LiveObject): Fields {
  const fields = Object.keys((kindSchemas[kind].put as { readonly properties?: object }).properties ?? {});
  const shown = Object.entries(live).filter(([name]) => fields.includes(name));
  const config = Object.entries(live.config ?? {}).filter(([key]) => !isHidden(key));
  return { ...Object.fromEntries(shown), ...(live.config === undefined ? {} : { config: Object.fromEntries(config) }) };
}

const headOf = ({ address, records }: LiveObject): string =>
  [
    `# ${address}, ${records.length === 0 ? 'which no set declares' : `of set ${records.map(([set]) => set).join(', ')}`}.`,
    '# What is saved is sent as a whole; a text that did not change is not sent.',
    '',
  ].join('\n');

async function send(context: Command, client: Client, object: LiveObject, shown: Fields, text: string): Promise<void> {
  const { kind, name, address, live, etag, records } = object;
  const edited = parsedText(text, address);
  refuseUnknown(object, edited);
  const sets = records.map(([set]) => set);
  const isChanged = JSON.stringify(edited) !== JSON.stringify(shown);
  if (isChanged) {
    const kept = Object.entries(live.config ?? {}).filter(([key]) => isHidden(key));
    const given = edited['config'] ?? {};
    const config = isObject(given) ? { ...given, ...Object.fromEntries(kept) } : given;
    const body = live.config === undefined ? edited : { ...edited, config };
    const write = etag === undefined ? {} : { ifMatch: etag };
    const put = () => client.put(kind, name, body, write, context.stop);
    await client.operations.run(put, context.cancel).catch((error: unknown) => {
      const isStale = error instanceof ClientError && error.status === 412;
      throw isStale
        ? new CliError(`${address} was changed meanwhile: nothing was written`, exitCodes.stale, error)
        : error;
    });
  }
  context.out(
    `${address} ${isChanged ? 'changed' : 'did not change: nothing was sent'}${sets.length === 0 ? ' (no set declares it)' : ''}`,
  );
  context.jsonObjects({ kind, name, action: 'edit', changed: isChanged, sets });
  if (isChanged) for (const line of nextApplyTexts(address, records, shown, edited)) context.note(line);
}

/** The server takes an unknown field for a leftover of a client and ignores it, so a misspelt one would count as removed. */
function refuseUnknown({ kind, address, live }: LiveObject, edited: Fields): void {
  const unknown = validateBody(kindSchemas[kind].put, edited, { unknownKeys: 'report' }).find(
    ({ code, path }) => code === 'unknownMember' && path !== 'kind' && !Object.hasOwn(live, path),
  );
  if (unknown !== undefined)
    throw commandError(`${address} stays as it is: it has no field ${unknown.path}${didYouMean(unknown.near)}`);
}

function parsedText(text: string, address: string): Fields {
  const fail = (why: string, cause?: unknown): never => {
    throw commandError(`${address} stays as it is: the text ${why}`, cause);
  };
  try {
    const document = parseDocument(text);
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    // Below its fields the API takes texts only, and people write numbers and booleans there, as in manifests.
    visit(document, {
      Scalar(key, node, { length: depth }) {
        if (key !== 'key' && depth > 3 && ['number', 'boolean'].includes(typeof node.value)) node.value = node.source;
      },
    });
    const value: unknown = document.toJS();
    if (isObject(value)) return value;
  } catch (error) {
    // The library shows the lines after a colon.
    const [first = ''] = reasonOf(error).split('\n', 1);
    return fail(`is not YAML (${first.replace(/:$/, '')})`, error);
  }
  return fail('holds no fields');
}

/** Ctrl-C goes to the editor while it runs. */
function openEditor(context: Command, file: string): Promise<void> {
  const { env } = context.io;
  const editor = [env['VISUAL'], env['EDITOR'], 'vi'].find((one) => one !== undefined && one.trim() !== '') ?? 'vi';
  const announceAgain = context.takeAnnouncements();
  return new Promise<void>((resolve, reject) => {
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0
        ? resolve()
        : reject(commandError(`The editor ${editor} ended with ${code ?? 'a signal'}: nothing was sent`)),
    );
  }).finally(announceAgain);
}
