// Trusted client certificates on the wire (spec 2.4).
import { Type, type Static } from 'typebox';
import { facts } from '../schema/field.ts';

export const Certificate = Type.Object({
  type: Type.String(facts({ doc: 'client; metrics: its client may read metrics and nothing else.' })),
  certificate: Type.String(facts({ doc: 'PEM x509.', immutable: true })),
  name: Type.String(facts({ effect: 'live' })),
  fingerprint: Type.String(facts({ computed: true, doc: 'SHA-256 of the raw certificate.' })),
  restricted: Type.Optional(
    Type.Boolean(
      facts({
        effect: 'live',
        doc: 'Whether its client may use only the projects listed.',
        since: 'certificate_project',
      }),
    ),
  ),
  projects: Type.Optional(
    Type.Array(
      Type.String(),
      facts({
        effect: 'live',
        doc: 'Projects that its client may use while restricted.',
        since: 'certificate_project',
      }),
    ),
  ),
});
export type Certificate = Static<typeof Certificate>;

export const certificateTypes = ['client', 'metrics'] as const;
export type CertificateType = (typeof certificateTypes)[number];

export const isCertificateType = (type: string): type is CertificateType =>
  (certificateTypes as readonly string[]).includes(type);

const restriction = { restricted: Type.Optional(Type.Boolean()), projects: Type.Optional(Type.Array(Type.String())) };

/** `certificate`: base64 DER or PEM; absent: the connection's. */
export const CertificateCreate = Type.Object({
  type: Type.String(),
  certificate: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  password: Type.Optional(
    Type.String(facts({ secret: true, createOnly: true, doc: 'The trust password, or a one-time token.' })),
  ),
  token: Type.Optional(
    Type.Boolean(
      facts({
        createOnly: true,
        doc: 'Make a one-time token that adds a certificate later.',
        since: 'certificate_token',
      }),
    ),
  ),
  ...restriction,
});
/** `certificate`: a replacement, as PEM or base64 of its DER; absent: it stays. */
export const CertificatePut = Type.Object({
  type: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  certificate: Type.Optional(Type.String()),
  ...restriction,
});
export type CertificateCreate = Static<typeof CertificateCreate>;
export type CertificatePut = Static<typeof CertificatePut>;
