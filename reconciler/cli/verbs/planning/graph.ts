// `gantry graph`: the dependencies among declared objects, as Mermaid or DOT; contacts no daemon.
import type { Run } from '../../session/context.ts';
import { formatOf } from '../../flags/output-flags.ts';
import type { GraphOptions } from './planning-verbs.ts';
import { loadSet } from '../../session/load-set.ts';

export const graph: Run<GraphOptions> = async (context, args) => {
  const format = formatOf(context.options.output, ['mermaid', 'dot']);
  const { documents } = await loadSet(context, args, false);
  const { graphDot, graphMermaid } = await import('../../../core/render/render-graph.ts');
  context.io.stdout.write(format === 'dot' ? graphDot({ documents }) : graphMermaid({ documents }));
};
