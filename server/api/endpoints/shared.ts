// Helpers that several endpoint tables use.
import { Type } from 'typebox';
import { UrlList } from '../schema/common-schemas.ts';

export const list = ['recursion'] as const;
export const strings = Type.Array(Type.String());
/** A collection of objects that belong to projects. */
export const recursionInProjects = { query: ['recursion', 'all-projects'], result: UrlList } as const;
/** A collection: URLs, or the objects with `recursion`. */
export const recursion = { query: list, result: UrlList } as const;
