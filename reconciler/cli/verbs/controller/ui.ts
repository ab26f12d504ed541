// `gantry ui`: serves the page of the controller for one host until interrupted. The printed address logs one browser in, once.
import { fileURLToPath } from 'node:url';
import { problemText } from '../../../controller/sets/load-revision.ts';
import type { LogLine } from '../../../controller/contract/index.ts';
import type { Manifests } from '../../../controller/viewer/host-viewer.ts';
import { printable } from '../../../core/text/terminal-text.ts';
import { commandError } from '../../errors/usage-error.ts';
import { planOptionsFor } from '../../flags/label-options.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { withClient } from '../../session/connect.ts';
import type { Context, Run, Output } from '../../session/context.ts';
import { loadQuietly, loadSet } from '../../session/load-set.ts';
import { readPins } from '../../session/lock-file.ts';
import { openBrowser } from '../../output/open-browser.ts';
import { untilAborted } from '../../../../server/lib/shared/deadline.ts';
import type { UiOptions } from './controller-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

const pageDirectory = fileURLToPath(new URL('../web', import.meta.url));

export const showHost: Run<UiOptions> = async (context, words) => {
  const { options, stop } = context;
  const isGiven = words.length + (options.file ?? []).length + (options.overlay ?? []).length > 0;
  // Manifests with errors are refused at the start; later ones are shown on the page.
  const first = isGiven ? await loadSet(context, words) : undefined;
  const set = setNameOf(options, first?.documents ?? []);
  await withClient(context, async (client) => {
    const [{ HostViewer }, { Hub }, { listen }] = await Promise.all([
      import('../../../controller/viewer/host-viewer.ts'),
      import('../../../controller/hub.ts'),
      import('../../../controller/http/listener.ts'),
    ]);
    const isReadOnly = options.readOnly === true;
    const hub = new Hub((line) => print(context, line));
    const { project } = options;
    const { metadata } = await client.server(stop);
    const viewer = new HostViewer({
      host: {
        name: metadata.environment?.server_name ?? client.host,
        address: client.host,
        labels: {},
        groups: [],
        vars: {},
        ...withoutUndefined({ project }),
      },
      connect: async () => client,
      set,
      ...(isGiven ? { manifests: () => readManifests(context, words) } : {}),
      hub,
      nowMs: () => context.io.nowMs(),
    });
    const listener = await listen({
      controller: viewer,
      settings: { listen: options.listen ?? '127.0.0.1:0', console: !isReadOnly, isOwnHost: true },
      log: hub.httpLog,
      pageDirectory,
    }).catch((error: unknown) => {
      throw commandError(`the page cannot be served: ${(error as Error).message}`, error);
    });
    try {
      const running = viewer.run(stop);
      const address = listener.ticketUrl({
        name: context.io.env['USER'] ?? 'you',
        role: isReadOnly ? 'view' : 'operate',
      });
      context.out(`Open ${address}\nThe address works once, within ten minutes. Press Ctrl-C to end.`);
      context.json(JSON.stringify({ type: 'page', url: address }));
      // Ctrl-C has no steps to finish.
      context.takeAnnouncements();
      if (options.open === true) await openBrowser(address, (text) => context.note(text));
      await Promise.all([untilAborted(stop), running]);
    } finally {
      await listener.close();
    }
  });
  // An interruption is the normal end.
};

async function readManifests(context: Context<UiOptions>, words: readonly string[]): Promise<Manifests> {
  const { loaded, diagnostics } = await loadQuietly(context, words);
  const problems = diagnostics.filter(({ severity }) => severity === 'error');
  return {
    documents: loaded.documents,
    pins: await readPins(context, loaded.files),
    options: planOptionsFor(context.options, loaded.documents),
    problems: problems.map((problem) => problemText(problem, process.cwd())),
  };
}

function print(context: Output, { level, message }: LogLine): void {
  if (level === 'warn' || level === 'error') context.note(printable(`${level}: ${message}`));
}
