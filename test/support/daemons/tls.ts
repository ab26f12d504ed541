// Client certificates and requests over real TLS connections, for tests of access rules.
import { createHash, X509Certificate } from 'node:crypto';
import { request as httpsRequest, type Agent } from 'node:https';
import type { OutgoingHttpHeaders } from 'node:http';
import { makeSelfSigned, type KeyAndCertificate, type CertificateRequest } from '../../../server/lib/self-signed.ts';
import { answerOf, collect, type Answer } from './daemon.ts';

export interface ClientCertificate extends KeyAndCertificate {
  readonly fingerprint: string;
}

const hour = 3_600_000;

/** A self-signed certificate, valid from an hour ago for two hours. */
export const makePair = (commonName: string, more: Partial<CertificateRequest> = {}): Promise<KeyAndCertificate> =>
  makeSelfSigned({
    commonName,
    organization: 'tests',
    subjectAltNames: [],
    notBefore: new Date(Date.now() - hour),
    notAfter: new Date(Date.now() + hour),
    usage: 'client',
    ...more,
  });

export async function makeClient(
  commonName = 'client',
  validMs: readonly [number, number] = [-hour, hour],
): Promise<ClientCertificate> {
  const [notBefore, notAfter] = validMs.map((ms) => new Date(Date.now() + ms)) as [Date, Date];
  const pair = await makePair(commonName, { notBefore, notAfter });
  return { ...pair, fingerprint: createHash('sha256').update(new X509Certificate(pair.certPem).raw).digest('hex') };
}

export interface TlsOptions {
  readonly client?: ClientCertificate | undefined;
  readonly headers?: OutgoingHttpHeaders;
  readonly maxVersion?: 'TLSv1.1' | 'TLSv1.2';
  /** Keeps connections; default: one for each request. */
  readonly agent?: Agent;
}

export function callTls(
  address: string,
  method: string,
  path: string,
  body?: object | Buffer,
  options: TlsOptions = {},
): Promise<Answer> {
  const { hostname, port } = new URL(`https://${address}`);
  const { client, headers, maxVersion, agent } = options;
  const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const type = body === undefined || Buffer.isBuffer(body) ? {} : { 'content-type': 'application/json' };
  // Node announces no body of a DELETE, which a server then takes for the next request.
  const length = bytes === undefined ? {} : { 'content-length': bytes.length };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: hostname.replaceAll(/[[\]]/g, ''),
        port,
        method,
        path,
        agent: agent ?? false,
        rejectUnauthorized: false,
        headers: { ...type, ...length, ...headers },
        ...(client === undefined ? {} : { cert: client.certPem, key: client.keyPem }),
        ...(maxVersion === undefined ? {} : { minVersion: maxVersion, maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' }),
      },
      (response) => {
        collect(response).then(
          (read) => resolve(answerOf(response.statusCode ?? 0, response.headers, read)),
          (error: unknown) => reject(error as Error),
        );
      },
    );
    request.on('error', reject);
    request.end(bytes);
  });
}
