// Reads client requests about certificates: the projects that restrict one, and a token request. Pure.
import { isCertificateType, type CertificateCreate, type CertificatePut } from '../../api/server/certificate.ts';
import { errors } from '../../api/errors.ts';
import type { CertificateDocument } from '../../records/documents.ts';

export type Restriction = Pick<CertificatePut, 'restricted' | 'projects'>;

/** `projects`: the certificate's restriction; absent: valid for all projects, and for the server itself. */
export type Grants = Pick<CertificateDocument, 'projects' | 'listed'>;

/** Throws AppError badRequest. */
export function restrictionOf(
  { restricted, projects }: Restriction,
  before: Grants,
  hasProject: (name: string) => boolean,
): Grants {
  // Omitted values stay: a client unaware of projects must not lift a restriction.
  const isRestricted = restricted ?? before.projects !== undefined;
  const listed = [...new Set(projects ?? before.projects ?? before.listed)];
  const unknown = projects === undefined ? [] : listed.filter((project) => !hasProject(project));
  const isMisled = projects !== undefined && projects.length > 0 && !isRestricted && restricted === undefined;
  const limitsNothing =
    'limits nothing without restricted: true; leave it empty, or say whether the certificate is restricted';
  const problems = [
    ...unknown.map((project) => ({ path: 'projects', message: `there is no project ${JSON.stringify(project)}` })),
    ...(isMisled ? [{ path: 'projects', message: limitsNothing }] : []),
  ];
  if (problems.length > 0) throw errors.invalid('certificate', problems);
  if (isRestricted) return { projects: listed };
  return projects === undefined || listed.length === 0 ? {} : { listed };
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

/** The request behind a token, as its operation shows it. Throws AppError badRequest. */
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
