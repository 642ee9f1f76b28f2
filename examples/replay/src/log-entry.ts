import { isIP } from 'node:net';

/** What a line of an access log says about a request. */
export interface LogEntry {
  /** Whole milliseconds since 1970; logs know whole seconds. */
  readonly timeMs: number;
  /** An IPv4 or IPv6 address, as the log spells it. */
  readonly client: string;
  readonly method: string;
  /** What was asked for, as it was sent: mostly a path. */
  readonly target: string;
}

/**
 * Reads a line in the combined format of Apache and nginx; fields of one's own may follow. Undefined where it is
 * none, or tells of no request that an application would get to see: a client that sent nothing (`"-"`), or not HTTP.
 *
 * @example
 * parseLogEntry('203.0.113.7 - - [17/May/2015:10:05:03 +0200] "GET /tea HTTP/1.1" 200 512 "-" "curl/8.5.0"')
 * // { timeMs: 1431849903000, client: '203.0.113.7', method: 'GET', target: '/tea' }
 */
export function parseLogEntry(line: string): LogEntry | undefined {
  const [, client = '', time = '', request = ''] = COMBINED.exec(line) ?? [];
  const timeMs = parseTime(time);
  const [, method, target] = REQUEST.exec(request) ?? [];
  if (timeMs === undefined || method === undefined || target === undefined) return undefined;
  return isIP(client) === 0 ? undefined : { timeMs, client, method, target };
}

/** In quotes, what is a quote itself is escaped: by Apache as `\"`, by nginx as `\x22`. */
const QUOTED = String.raw`"((?:[^"\\]|\\.)*)"`;

/** Client, identity (never known), user (who may have spaces), time, request, status, size, referrer, browser. */
const COMBINED = new RegExp(
  String.raw`^(\S+) \S+ (?:[^[]* )?\[([^\]]+)\] ${QUOTED} \d{3} (?:\d+|-) ${QUOTED} ${QUOTED}(?: |$)`,
);

/** A method is a token of RFC 9110. What it asks for may hold spaces, where a server logs it as it came. */
const REQUEST = /^([\w!#$%&'*+.^`|~-]+) (\S|\S.*\S) HTTP\/\d(?:\.\d)?$/;

const TIME = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/;

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `17/May/2015:10:05:03 +0200`, in whatever zone the server was. */
function parseTime(text: string): number | undefined {
  const [, day, monthName = '', year, hour, minute, second, sign, zoneHours, zoneMinutes] =
    TIME.exec(text) ?? [];
  const month = MONTHS.indexOf(monthName);
  const midnight = new Date(Date.UTC(Number(year), month, Number(day)));
  const isDay = midnight.getUTCMonth() === month && midnight.getUTCDate() === Number(day);
  // Second 60 is a leap second.
  if (!isDay || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined;
  const zoneSeconds = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60;
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  const eastSeconds = sign === '+' ? zoneSeconds : -zoneSeconds;
  return midnight.getTime() + (seconds - eastSeconds) * 1000;
}
