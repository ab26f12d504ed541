// `gantry trust join`: adds the certificate of this client to the server of a token, and says how to connect from then on.
import { readFile, rm } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { text as textOf } from 'node:stream/consumers';
import { decodeTrustToken, type TrustToken } from '../../../../server/api/server/trust-token.ts';
import { ClientError } from '../../../../server/client/client-error.ts';
import { createClient } from '../../../../server/client/client.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, usageError, commandError } from '../../errors/usage-error.ts';
import { createFile } from '../../output/write-text.ts';
import type { Command, Output, RunOf } from '../../session/context.ts';
import type { trustJoin } from './access-verbs.ts';
import { isThere } from '../../../../server/lib/shared/missing-files.ts';

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export const joinServer: RunOf<typeof trustJoin> = async (context, [given = '']) => {
  const { clientCert, clientKey } = context.options;
  if (clientCert === undefined || clientKey === undefined)
    throw usageError('--client-cert and --client-key are needed: where the pair is, or is to be made');
  const text = given === '-' ? await textOf(context.io.stdin) : given;
  const token = decodeTrustToken(text);
  if (token === undefined) throw usageError('The token is not one of gantry trust add: it must be copied whole');
  if (token.addresses.length === 0) throw commandError('The token names no address of its server');
  const pair = await pairAt(context, clientCert, clientKey);
  const address = await joinAt(context, token, text.trim(), pair);
  const host = { address, client_cert: clientCert, client_key: clientKey, server_cert: token.fingerprint };
  context.jsonObjects(host);
  context.out(
    `${address} trusts ${token.client_name} now. To connect:\n  --host ${address} --client-cert ${clientCert} --client-key ${clientKey} --server-cert ${token.fingerprint}`,
  );
};

/** Uses the first address that answers. */
async function joinAt(context: Command, token: TrustToken, text: string, pair: Pair): Promise<string> {
  const unreachable: string[] = [];
  for (const at of token.addresses) {
    const address = `https://${at}`;
    const client = createClient(address, { tls: { ...pair, serverCertificate: token.fingerprint } });
    try {
      await client.create('certificate', { type: 'client', password: text }, {}, context.stop);
      return address;
    } catch (error) {
      if (!(error instanceof ClientError) || (error.code !== 'unreachable' && error.code !== 'timeout')) throw error;
      unreachable.push(reasonOf(error));
    } finally {
      await client.close();
    }
  }
  throw new CliError(`No address of the token answers: ${unreachable.join('; ')}`, exitCodes.unreachable);
}

/** An existing pair is used; a new one is made when both files are missing. */
async function pairAt(context: Output, certFile: string, keyFile: string): Promise<Pair> {
  const [hasCert, hasKey] = [await isThere(certFile), await isThere(keyFile)];
  if (hasCert !== hasKey)
    throw usageError(
      `${hasCert ? keyFile : certFile} is missing, and ${hasCert ? certFile : keyFile} is not: give both or none`,
    );
  if (hasCert) return { certificate: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  const { makeSelfSigned } = await import('../../../../server/lib/self-signed.ts');
  const now = new Date(context.io.nowMs());
  const notAfter = new Date(now);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + 10);
  const made = await makeSelfSigned({
    commonName: `${userInfo().username}@${hostname()}`,
    organization: 'Gantry',
    subjectAltNames: [],
    notBefore: now,
    notAfter,
    usage: 'client',
  });
  await createFile(keyFile, made.keyPem, { mode: 0o600 });
  await createFile(certFile, made.certPem, { mode: 0o644 }).catch(async (error: unknown) => {
    // The next run would ask for the other one.
    await rm(keyFile);
    throw error;
  });
  context.note(`Made the certificate ${certFile} with the key ${keyFile}`);
  return { certificate: made.certPem, key: made.keyPem };
}
