// `gantry fmt`: formats manifests; with --check only lists the unformatted ones.
import type { Run, Context } from '../../session/context.ts';
import type { LoadInput } from '../../../manifest/load-contract.ts';
import type { FmtOptions } from './setup-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { loadInputOf } from '../../session/load-set.ts';
import { commandError } from '../../errors/usage-error.ts';
import { replaceWhole } from '../../../../server/lib/durable-files.ts';

export const fmt: Run<FmtOptions> = async (context, args) => {
  const isCheck = context.options.check === true;
  const [{ readSources }, { formatManifest }] = await Promise.all([
    import('../../../manifest/text/sources.ts'),
    import('../../../manifest/text/format.ts'),
  ]);
  const { texts, diagnostics } = await readSources(await inputOf(context, args), context.stop);
  const problems = diagnostics.map(({ message }) => message);
  const changed: string[] = [];
  for (const { file, text } of texts) {
    if (file.endsWith('.json')) continue;
    const formatted = formatManifest(text);
    if (formatted.problem !== undefined) problems.push(`${file}: ${formatted.problem}`);
    else if (file === '<stdin>' && !isCheck) context.io.raw.stdout.write(formatted.text);
    else if (formatted.text !== text) {
      changed.push(file);
      if (!isCheck) await replaceWhole(file, formatted.text);
    }
  }
  context.jsonObjects({ changed, problems });
  for (const file of changed) context.out(file);
  if (problems.length > 0) throw commandError(problems.join('\n       '));
  return isCheck && changed.length > 0 ? exitCodes.error : exitCodes.ok;
};

/** Reads stdin of the command, which need not be that of the process. */
async function inputOf(context: Context<FmtOptions>, args: readonly string[]): Promise<LoadInput> {
  const input = await loadInputOf(context, args, false);
  if (!input.paths.includes('-')) return input;
  const chunks: Buffer[] = [];
  for await (const chunk of context.io.stdin as AsyncIterable<Buffer | string>) chunks.push(Buffer.from(chunk));
  return { ...input, stdin: Buffer.concat(chunks).toString('utf8') };
}
