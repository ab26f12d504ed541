// `gantry graph`: who needs whom among declared objects, as Mermaid or DOT; reaches no daemon.
import type { CliContext } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { loadSet } from '../../session/session.ts';
import { usageError } from '../../errors/usage-error.ts';

export async function graph(context: CliContext, args: readonly string[]): Promise<ExitCode> {
  const format = context.options.output ?? 'mermaid';
  if (format !== 'mermaid' && format !== 'dot')
    throw usageError(`--output ${JSON.stringify(format)} is neither mermaid nor dot`);
  const { documents } = await loadSet(context, args, false);
  const { graphDot, graphMermaid } = await import('../../../core/render/render-graph.ts');
  context.io.stdout.write(format === 'dot' ? graphDot({ documents }) : graphMermaid({ documents }));
  return exitCodes.ok;
}
