// gantry_certificate: a client certificate that the server trusts.
import { listByKind } from './shared/listing.ts';
import { X509Certificate } from 'node:crypto';
import type { Certificate } from '../../server/api/server/certificate.ts';
import { hasExtension, isGantry, needExtension, type Link } from '../connection/link.ts';
import { flag, text, texts, type StateOf } from '../framework/attribute.ts';
import { failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Context } from '../framework/object-type.ts';
import { deleteKind, readKind } from './shared/read-by-kind.ts';
import { oneOf, pemCheck } from './container/container-attributes.ts';
import { serverResource } from './shared/common-attributes.ts';
import { conflicting, edit, editOf, performCreate } from './shared/write.ts';
import { importByWhole } from './shared/import-ids.ts';

const fingerprintOf = (pem: string): string =>
  new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();

const isSameCertificate = (before: string, after: string): boolean =>
  pemCheck(before) === undefined && pemCheck(after) === undefined && fingerprintOf(before) === fingerprintOf(after);

const attributes = {
  name: text({ doc: 'Display name.', required: true }),
  certificate: text({
    doc: 'The certificate, as PEM.',
    required: true,
    replace: true,
    check: pemCheck,
    same: isSameCertificate,
  }),
  type: text({
    doc: '`client`, or `metrics` for access to metrics only, on servers that support it.',
    default: 'client',
    check: oneOf('client', 'metrics'),
  }),
  restricted: flag({
    doc: 'Whether access is restricted to the projects in `projects`, on servers with projects.',
    default: false,
  }),
  projects: texts({ doc: 'The projects that a restricted certificate may use.' }),
  fingerprint: text({ doc: 'SHA-256 fingerprint of the certificate.', computed: true, keep: true }),
};

type State = StateOf<typeof attributes>;

/** Additional members on servers with projects. */
interface Rights {
  readonly restricted?: boolean;
  readonly projects?: readonly string[] | null;
}

/** Keeps the written order when the names are the same. */
function sameOrder(written: readonly string[] | null, live: readonly string[] | null): readonly string[] {
  const names = live ?? [];
  const isSame = written?.length === names.length && written.every((name) => names.includes(name));
  return isSame ? written : names;
}

function readCertificate(live: Certificate, state: State) {
  const { name, certificate: pem, fingerprint, type } = live;
  const { restricted = false, projects: given }: Certificate & Rights = live;
  const projects = given ?? [];
  const isAsWritten = state.certificate !== null && isSameCertificate(state.certificate, pem);
  // An explicit null and a missing value both mean none.
  const shown = state.projects === null && projects.length === 0 ? null : sameOrder(state.projects, projects);
  return { name, certificate: isAsWritten ? state.certificate : pem, fingerprint, type, restricted, projects: shown };
}

/** Throws DiagnosticError when the server lacks such restrictions: it would grant more than configured. */
function bodyOf(
  { name, type, restricted, projects }: State,
  { client }: Context<Link>,
): Pick<Certificate, 'name' | 'type'> {
  const has = { name, type: type ?? 'client' };
  if (type === 'metrics') needExtension(client, 'metrics', 'restrict a certificate to metrics');
  if (restricted !== true && (projects ?? []).length === 0)
    // gantryd keeps members that a request omits, so that no restriction is lifted by accident.
    return isGantry(client) && !hasExtension(client, 'certificate_project') ? has : { ...has, ...nothingRestricted };
  needExtension(client, 'certificate_project', 'restrict a certificate to projects');
  const rights: Rights = { restricted: restricted ?? false, projects: [...(projects ?? [])] };
  return { ...has, ...rights };
}
const nothingRestricted: Rights = { restricted: false, projects: [] };

export const certificate = serverResource({
  typeName: 'gantry_certificate',
  doc: 'A client certificate that the server trusts.',
  attributes,
  identity: ['fingerprint'],
  listing: listByKind('certificate', { identity: 'fingerprint', title: ({ name }) => name }),
  importing: importByWhole('fingerprint', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'),
  validate: ({ restricted, projects }) =>
    (restricted === false || restricted === null) && Array.isArray(projects) && projects.length > 0
      ? [
          failure(
            'projects has no effect without restricted',
            'Set restricted to true, or leave projects out.',
            at('projects'),
          ),
        ]
      : [],
  plan({ prior, planned, replace, client }) {
    // gantryd refuses to change it.
    if (prior !== null && planned.type !== prior.type && client !== undefined && isGantry(client)) replace(at('type'));
    if (typeof planned.certificate === 'string' && pemCheck(planned.certificate) === undefined) {
      planned.fingerprint = fingerprintOf(planned.certificate);
    }
  },
  async read(state, context) {
    const live = await readKind(context, 'certificate', state.fingerprint ?? '');
    return live === undefined ? null : readCertificate(live, state);
  },
  async create({ planned }, context) {
    const der = new X509Certificate(planned.certificate).raw.toString('base64');
    const body = { ...bodyOf(planned, context), certificate: der };
    await performCreate(context, () => context.client.client.create('certificate', body, {}, context.signal));
  },
  async update({ planned }, prior, context) {
    await edit(
      context,
      editOf(context, 'certificate', prior.fingerprint ?? '', {
        changedSince: (live) =>
          conflicting({ prior, planned }, (state) => readCertificate(live, state), [
            'name',
            'type',
            'restricted',
            'projects',
          ]),
        body: (live) => ({
          ...bodyOf(planned, context),
          ...(isGantry(context.client) ? {} : { certificate: live.certificate }),
        }),
      }),
    );
  },
  delete: ({ fingerprint }, context) => deleteKind(context, 'certificate', fingerprint ?? ''),
});
