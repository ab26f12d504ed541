// Checks for an RFC 3339 timestamp with its zone; refuses leap seconds, since no Date can hold them. Pure.

const form =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-]([0-9]{2}):([0-9]{2}))$/;
const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function isTimestamp(text: string): boolean {
  const parts = form
    .exec(text)
    ?.slice(1)
    .map((part) => Number(part ?? 0));
  if (parts === undefined) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = parts;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = (lengths[month - 1] ?? 0) + (month === 2 && leap ? 1 : 0);
  return day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60 && zoneHour < 24 && zoneMinute < 60;
}
