// `gantry validate`: reads the manifests and reports their problems; contacts no daemon.
import type { Fleet, Context, Run } from '../../session/context.ts';
import type { ValidateOptions } from './planning-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { colorOf } from '../../output/safe-io.ts';
import { loadHosts, showDiagnostics } from '../../hosts/load-hosts.ts';
import { loadInputOf, throwOnErrors } from '../../session/load-set.ts';

export const validate: Run<ValidateOptions> = async (context, args, fleet) => {
  if (fleet !== undefined) return validateHosts(context, fleet, args);
  const { options, io } = context;
  const { loadManifests } = await import('../../../manifest/load.ts');
  const input = await loadInputOf(context, args, false);
  const { paths } = input;
  const { validateDocuments } = await import('../../../core/graph/check-documents.ts');
  const loaded = await loadManifests(input, context.stop);
  const { documents } = loaded;
  const across = validateDocuments(documents, loaded.broken).map((found) => loaded.locate(found));
  const diagnostics = [...loaded.diagnostics, ...across];
  const count = (severity: string): number => diagnostics.filter((found) => found.severity === severity).length;
  const [errors, warnings] = [count('error'), count('warning')];
  if (context.isJson) {
    const report = {
      format_version: '1.0',
      valid: errors === 0,
      error_count: errors,
      warning_count: warnings,
      diagnostics,
    };
    io.stdout.write(`${JSON.stringify(report)}\n`);
  } else {
    const { renderDiagnostics } = await import('../../../core/render/render-diagnostics.ts');
    const color = colorOf(io, io.stderr, options.color !== false);
    if (diagnostics.length > 0) context.note(renderDiagnostics(diagnostics, { color }).trimEnd());
    context.out(
      errors === 0
        ? `Valid: ${documents.length} ${documents.length === 1 ? 'document' : 'documents'} in ${paths.join(', ')}`
        : `Invalid: ${errors} ${errors === 1 ? 'error' : 'errors'}`,
    );
  }
  return errors === 0 ? exitCodes.ok : exitCodes.error;
};

/** The hosts file, and the manifests as each host gets them. */
async function validateHosts(context: Context<ValidateOptions>, fleet: Fleet, args: readonly string[]): Promise<void> {
  const { validateDocuments } = await import('../../../core/graph/check-documents.ts');
  const loaded = await loadHosts(context, fleet, args, false);
  const found = loaded.map(({ host, loaded: { documents, broken, locate } }) => ({
    host,
    diagnostics: validateDocuments(documents, broken)
      .filter(({ code }) => code !== 'reference-cycle')
      .map((one) => locate(one)),
  }));
  await showDiagnostics(context, found, loaded.length);
  throwOnErrors(
    found.flatMap(({ diagnostics }) => diagnostics),
    loaded.map(({ host }) => host.name),
  );
  const each = loaded.map(({ host, loaded: { documents } }) => ({ host: host.name, documents: documents.length }));
  context.jsonObjects({ format_version: '1.0', valid: true, hosts: each });
  for (const { host, documents } of each)
    context.out(`Valid: ${documents} ${documents === 1 ? 'document' : 'documents'} for ${host}`);
}
