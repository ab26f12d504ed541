// Reads what clients write of certificates: projects that restrict one, and the request for a token. Pure.
import { isCertificateType, type CertificateCreate, type CertificatePut } from '../../api/server/certificate.ts';
import { errors } from '../../api/errors.ts';

export type Restriction = Pick<CertificatePut, 'restricted' | 'projects'>;

/** The projects of a certificate; without `projects` in the result it is good for all, and for the server itself. Throws AppError badRequest. */
export function restrictionOf(
  { restricted, projects }: Restriction,
  before: readonly string[] | undefined,
  hasProject: (name: string) => boolean,
): { readonly projects?: readonly string[] } {
  // Values that are not sent stay: a client that does not know of projects must not give all of them.
  const isRestricted = restricted ?? before !== undefined;
  const listed = [...new Set(projects ?? (isRestricted ? before : undefined))];
  const unknown = listed.filter((project) => !hasProject(project));
  const problems = [
    ...unknown.map((project) => ({ path: 'projects', message: `there is no project ${JSON.stringify(project)}` })),
    ...(isRestricted || listed.length === 0
      ? []
      : [
          {
            path: 'projects',
            message: 'limits nothing without restricted: true; leave it empty, or restrict the certificate',
          },
        ]),
  ];
  if (problems.length > 0) throw errors.invalid('certificate', problems);
  return isRestricted ? { projects: listed } : {};
}

/** The client lost a project. Undefined: all projects, and the server. */
export const isNarrowed = (before: readonly string[] | undefined, after: readonly string[] | undefined): boolean =>
  after !== undefined && (before === undefined || before.some((project) => !after.includes(project)));

export function checkType(type: string, sent: string | undefined): void {
  if (sent === undefined || sent === type) return;
  const message = isCertificateType(sent)
    ? `cannot be changed from ${type} to ${sent}: delete the certificate and add it again`
    : `must be ${type}, is ${JSON.stringify(sent)}`;
  throw errors.invalid('certificate', [{ path: 'type', message }]);
}

/** The request that a token stands for, as its operation shows it. Throws AppError badRequest. */
export function tokenRequest(body: CertificateCreate) {
  const { type, name = '', certificate = '', restricted = false, projects = [] } = body;
  const problems = [
    ...(type === 'client' ? [] : [{ path: 'type', message: `must be client, is ${JSON.stringify(type)}` }]),
    ...(name === '' ? [{ path: 'name', message: 'is required: the certificate of the new client gets it' }] : []),
    ...(certificate === '' ? [] : [{ path: 'certificate', message: 'must be absent: the new client brings its own' }]),
  ];
  if (problems.length > 0) throw errors.invalid('trust token', problems);
  return { type, name, certificate: '', password: '', token: true, restricted, projects };
}
