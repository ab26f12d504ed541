// `gantry validate --hosts`: checks the hosts file, and the manifests as each host gets them; contacts no host.
import type { RunOnHosts } from '../../hosts/choose-hosts.ts';
import { validateDocuments } from '../../../core/graph/check-documents.ts';
import type { ValidateOptions } from './planning-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { throwOnErrors } from '../../session/load-set.ts';
import { loadHosts, showDiagnostics } from '../../hosts/load-hosts.ts';

export const validateFleet: RunOnHosts<ValidateOptions> = async (context, fleet, args) => {
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
  if (context.isJson)
    context.io.stdout.write(`${JSON.stringify({ format_version: '1.0', valid: true, hosts: each })}\n`);
  else
    for (const { host, documents } of each)
      context.out(`Valid: ${documents} ${documents === 1 ? 'document' : 'documents'} for ${host}`);
  return exitCodes.ok;
};
