// `gantry controller`: starts the controller of a config and its HTTP API, and runs until it is interrupted.
import { fileURLToPath } from 'node:url';
import { printable } from '../../../core/text/terminal-text.ts';
import type { LogLine } from '../../../controller/contract/index.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { throwOnErrors } from '../../session/load-set.ts';
import type { Run, Output } from '../../session/context.ts';
import { untilAborted } from '../../../../server/lib/shared/deadline.ts';
import type { ControllerOptions } from './controller-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const runController: Run<ControllerOptions> = async (context) => {
  const file = context.options.config ?? 'gantry.yaml';
  const { readConfig } = await import('../../../controller/config/read-config.ts');
  const { config, diagnostics } = await readConfig(file, context.stop);
  await context.diagnostics(diagnostics);
  throwOnErrors(diagnostics, [file]);
  if (config === undefined) throw commandError(`${file} cannot be read`);
  const [{ startEngine }, { Hub }, { openTraces }] = await Promise.all([
    import('../../../controller/start.ts'),
    import('../../../controller/hub.ts'),
    import('../../../controller/traces/open-traces.ts'),
  ]);
  const hub = new Hub((line) => print(context, line));
  const report = (message: string): void => hub.log('warn', message);
  hub.tracing = await openTraces(config.tracing, context.io.env, report).catch((error: unknown) => {
    throw usageError(reasonOf(error));
  });
  const started = await opened(startEngine(config, hub), `${file} cannot be started`);
  await context.diagnostics(started.diagnostics);
  throwOnErrors(started.diagnostics, [file]);
  const { engine } = started;
  if (engine === undefined) throw commandError(`${file} cannot be started`);
  try {
    const { listenFor } = await import('../../../controller/serve.ts');
    const pageDirectory = fileURLToPath(new URL('../web', import.meta.url));
    const api =
      config.listen === undefined
        ? undefined
        : await opened(listenFor(config, engine, hub, pageDirectory), 'The API of the controller does not begin');
    if (api !== undefined) context.out(`Listening on ${api.url}`);
    const { Reloader } = await import('../../../controller/reload/reloader.ts');
    const reloader = new Reloader({ engine, hub, ...withoutUndefined({ api }) });
    const watching = reloader.watch(context.stop);
    context.io.onHangup?.(() => void reloader.reload());
    await untilAborted(context.stop);
    await watching;
    await api?.close();
  } finally {
    await engine.close();
  }
  // An interruption is the normal end.
};

/** Reports unusable files, addresses and state as mistakes of the configuration. */
const opened = <T>(opening: Promise<T>, what: string): Promise<T> =>
  opening.catch((error: unknown) => {
    throw commandError(`${what}: ${reasonOf(error)}`, error);
  });

function print(context: Output, { at, level, message, set, host, source }: LogLine): void {
  if (level === 'debug') return;
  if (context.isJson)
    return context.json(
      JSON.stringify({ '@level': level, '@message': message, '@timestamp': at, type: 'log', set, host, source }),
    );
  const about = [set, host, source].filter((word) => word !== undefined).join(' ');
  context.note(printable(`${at} ${level.padEnd(5)} ${about === '' ? '' : `${about}: `}${message}`));
}
