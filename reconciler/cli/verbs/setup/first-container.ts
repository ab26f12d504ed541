// The part of `gantry init` that ends in a running container: at most three questions, then a stack and its apply.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { containerName } from '../../../../server/api/names.ts';
import { isManifestName } from '../../../manifest/text/sources.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { isApproved } from '../../flags/plan-flags.ts';
import { sameServer } from '../../flags/same-server.ts';
import type { Context } from '../../session/context.ts';
import { withClient } from '../../session/connect.ts';
import { hostOf } from '../../session/host.ts';
import { withQuestions, type AskFor } from '../../session/questions.ts';
import { readRemotes, type Remotes } from '../../session/remotes.ts';
import { imageDocuments, makeOwnImage, ownImage, ownImages, unreachable, usualImage } from './first-image.ts';
import { firstContainer } from './init-templates.ts';
import { writeNew } from './write-new.ts';
import type { InitOptions } from './setup-verbs.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

const usualName = 'first';

export async function makeFirstContainer(context: Context<InitOptions>, directory: string): Promise<ExitCode> {
  await checkNoManifest(directory);
  const remotes = await readRemotes(context.io.env);
  const isAnswered = isApproved(context.options);
  const answers = isAnswered
    ? await choose(context, remotes, (_, usual) => Promise.resolve(usual))
    : await withQuestions(context, (ask) => choose(context, remotes, ask));
  const { image, name, isNow } = answers;
  const { document, alias } = imageDocuments(image, remotes);
  const own = ownImage(image);
  if (own !== undefined) {
    await makeFolder(directory);
    if (own === 'debootstrap') context.note('Making an image of Debian with debootstrap, which takes some minutes.');
    await makeOwnImage(own, directory, context.io);
  }
  const network = isNow ? await freeNetwork(context) : 'gantry0';
  await writeNew(context, directory, firstContainer({ image: document, alias, name, network }));
  const there = sameServer(context.io.argv);
  if (!isNow) {
    context.note(`Next: gantry apply ${directory}${there}`);
    return exitCodes.ok;
  }
  const { apply } = await import('../applying/apply.ts');
  const code = await apply({ ...context, options: { ...context.options, autoApprove: true } }, [directory]);
  if (code === exitCodes.ok)
    context.note(
      `Next: gantry shell ${name}${there}; change ${directory}/stack.yaml and run gantry apply ${directory}${there}`,
    );
  return code;
}

/** The answers are about one container, so nothing else may be applied with it. */
async function checkNoManifest(directory: string): Promise<void> {
  const other = (await readdir(directory).catch((): string[] => [])).sort().find(isManifestName);
  if (other !== undefined)
    throw commandError(
      `${join(directory, other)} exists already, and would be applied with the first container: name a new folder, such as gantry init ${join(directory, usualName)}`,
    );
}

/** The first of `gantry0`, `gantry1` and so on that is no foreign interface of the host, such as the network of another daemon. */
async function freeNetwork(context: Context<InitOptions>): Promise<string> {
  const networks = await withClient(context, (client) => client.list('network', context.stop)).catch(() => {
    context.stop.throwIfAborted();
    // The apply explains why the server does not answer.
    return [];
  });
  const taken = new Set(networks.filter(({ managed }) => !managed).map(({ name }) => name));
  let index = 0;
  while (taken.has(`gantry${index}`)) index += 1;
  if (index > 0)
    context.note(`The host already has an interface gantry${index - 1}: the network of the stack is gantry${index}`);
  return `gantry${index}`;
}

interface Answers {
  readonly image: string;
  readonly name: string;
  readonly isNow: boolean;
}

async function choose(context: Context<InitOptions>, remotes: Remotes, ask: AskFor): Promise<Answers> {
  const { options, io } = context;
  const usual = options.image ?? (await usualHere(context, remotes));
  const image = options.image ?? (await ask('Image of the container', usual));
  // Checks the answer before the next question.
  imageDocuments(image, remotes);
  const name = options.name ?? (await ask('Its name', usualName));
  const problem = containerName(name);
  if (problem !== undefined) throw usageError(`${JSON.stringify(name)} cannot be the name of a container: ${problem}`);
  const where = options.embedded ?? hostOf(options, io);
  const isNow = isApproved(options) || /^y(es)?$/i.test(await ask(`Make it now, on ${where}?`, 'yes'));
  return { image, name, isNow };
}

/** Only checks the network of this machine; a daemon elsewhere has its own. */
async function usualHere({ options, io, note, stop }: Context<InitOptions>, remotes: Remotes): Promise<string> {
  const isHere = options.embedded !== undefined || hostOf(options, io).startsWith('unix:');
  const why = isHere ? await unreachable(usualImage, remotes, stop) : undefined;
  if (why === undefined) return usualImage;
  const recipe =
    'another image: gantry image import FILE, then gantry init --image ALIAS (docs/images.md: without a network)';
  const [first, second] = await ownImages(io);
  if (first === undefined)
    throw commandError(
      `${why}, and this machine has neither busybox nor debootstrap to make an image with: apt-get install busybox-static, or ${recipe}`,
    );
  const bootstrap = 'a Debian with debootstrap, from the mirror of apt';
  const offered =
    first === 'debootstrap'
      ? `${bootstrap} (--image debootstrap)`
      : `this machine's busybox (1 MB)${second === undefined ? '' : `, or ${bootstrap} (--image debootstrap)`}`;
  note(`${why}: the image can be made of ${offered}. For ${recipe}`);
  return first;
}
