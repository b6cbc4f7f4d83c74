-- Which operational days a plan covers as a whole, and so may move the rosters of (design section 7): the day of the request it
-- answers; or, where the setting trusts it, every day that lies wholly inside the window of a scheduled plan, with or without records.
-- An answer is no scheduled plan: it covers the day that was asked for and no other (what is deleted in error does not heal).
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function ledger.covered_days(p_message inbox.stage_message, p_requested_day date, p_setting core.setting)
returns date[]
language sql
stable
set search_path to ''
as $fn$
  select array(
    select p_requested_day where p_requested_day is not null
    union
    select d.day::date
    from generate_series(
      (p_message.dttm at time zone p_setting.airport_timezone)::date - 1,
      (p_message.dttm at time zone p_setting.airport_timezone)::date + p_setting.schd_window_hours / 24 + 1,
      interval '1 day') d(day)
    where p_requested_day is null and p_setting.schd_trust_window and p_message.kind = 'SCHD_DNLD'
      and (d.day::date + p_setting.airport_day_cutover) at time zone p_setting.airport_timezone >= p_message.dttm
      and (d.day::date + 1 + p_setting.airport_day_cutover) at time zone p_setting.airport_timezone
          <= p_message.dttm + make_interval(hours => p_setting.schd_window_hours)
    order by 1)
$fn$;

comment on function ledger.covered_days(inbox.stage_message, date, core.setting) is 'Operational days that a plan covers as a whole';
