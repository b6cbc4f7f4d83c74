-- The alerts as an operator reads them: open ones first, the newest on top.
-- Reads:  core.alert
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace view core.alert_view as
select
  a.alert_id, a.code, a.detail, a.raised_at, a.repeats, a.message_id, a.acknowledged_at is null as open, a.acknowledged_at, a.acknowledged_by
from core.alert a
order by a.acknowledged_at is null desc, a.raised_at desc, a.alert_id desc;

comment on view core.alert_view is 'Alerts for people: open ones first, the newest on top';
grant select on core.alert_view to msgx_app, msgx_operator, msgx_reader;
