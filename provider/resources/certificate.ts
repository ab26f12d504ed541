// gantry_certificate: a client certificate that the server trusts.
import { X509Certificate } from 'node:crypto';
import { text } from '../framework/attribute.ts';
import { timeoutsAttribute } from '../framework/timeouts.ts';
import { deleteKind, readKind } from './by-kind.ts';
import { serverResource } from './shared.ts';
import { edit, editOf, performCreate } from './write.ts';

const fingerprintOf = (pem: string): string =>
  new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();

function certificateCheck(pem: string): string | undefined {
  try {
    fingerprintOf(pem);
    return undefined;
  } catch {
    return 'must be an X.509 certificate in PEM form';
  }
}

const isSameCertificate = (before: string, after: string): boolean =>
  certificateCheck(before) === undefined &&
  certificateCheck(after) === undefined &&
  fingerprintOf(before) === fingerprintOf(after);

const attributes = {
  name: text({ doc: 'A name for people.', required: true }),
  certificate: text({
    doc: 'The certificate, as PEM.',
    required: true,
    replace: true,
    check: certificateCheck,
    same: isSameCertificate,
  }),
  fingerprint: text({ doc: 'SHA-256 of the certificate.', computed: true, keep: true }),
  timeouts: timeoutsAttribute,
};

export const certificate = serverResource({
  typeName: 'gantry_certificate',
  doc: 'A client certificate that the server trusts.',
  example: `resource "gantry_certificate" "ci" {
  name        = "ci"
  certificate = file("\${path.module}/ci.crt")
}
`,
  version: 0,
  attributes,
  identity: ['fingerprint'],
  importing: {
    doc: '`fingerprint`',
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    parse: (id) => ({ fingerprint: id }),
    id: ({ fingerprint = '' }) => fingerprint,
  },
  plan({ planned }) {
    if (typeof planned.certificate === 'string' && certificateCheck(planned.certificate) === undefined) {
      planned.fingerprint = fingerprintOf(planned.certificate);
    }
  },
  async read(state, context) {
    const seen = await readKind(context, 'certificate', state.fingerprint ?? '');
    if (seen === undefined) return null;
    const { name, certificate: live, fingerprint } = seen;
    const isAsWritten = state.certificate !== null && isSameCertificate(state.certificate, live);
    return { name, certificate: isAsWritten ? state.certificate : live, fingerprint };
  },
  async create({ planned }, context) {
    const der = new X509Certificate(planned.certificate).raw.toString('base64');
    const body = { type: 'client', name: planned.name, certificate: der };
    await performCreate(context, () => context.client.client.create('certificate', body, {}, context.signal));
  },
  async update({ planned }, prior, context) {
    await edit(
      context,
      editOf(context, 'certificate', prior.fingerprint ?? '', {
        changedSince: (live) => (live.name === prior.name ? [] : ['name']),
        body: () => ({ type: 'client', name: planned.name }),
      }),
    );
  },
  delete: ({ fingerprint }, context) => deleteKind(context, 'certificate', fingerprint ?? ''),
});
