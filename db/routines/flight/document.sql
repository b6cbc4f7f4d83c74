-- The only builder of a flight's full state (design section 3): any number of flights in one statement, so on one snapshot, each in the
-- canonical form: keys in catalogue order, sets by ORDINAL, no value no key, times with the airport's offset. Deleted rows come too.
-- Reads:  flight.flight_schd and its detail tables, core.setting
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.document(p_flids bigint[])
returns table (flid bigint, document json)
language plpgsql
stable
security definer
set search_path to ''
set timezone to 'UTC'
set enable_seqscan to off  -- a flight is found by its key, whatever the tables held when the plan was made
set enable_hashjoin to off
set enable_mergejoin to off
as $fn$
declare
  v_setting core.setting;
begin
  select * into v_setting from core.setting;
  perform set_config('TimeZone', v_setting.airport_timezone, true);  -- for this function only: it has a SET clause of its own
  return query
  select
    f.flid,
    json_strip_nulls(core.json_concat(
      (select row_to_json(h) from (
        select
          f.flid as "FLID", f.state as "STATE", f.state_version as "STATE_VERSION", f.updated_at as "UPDATED_AT",
          f.operation_day as "OPERATION_DAY", f.last_message_id as "LAST_MESSAGE_ID",
          f.alcd as "ALCD", f.alsc as "ALSC", f.flno as "FLNO", f.mvin as "MVIN", f.sodt as "SODT", f.flty as "FLTY",
          f.flin as "FLIN", f.acft as "ACFT", f.reno as "RENO",
          f.taop as "TAOP", f.tafl as "TAFL", f.taid as "TAID", f.trml as "TRML", f.csop as "CSOP", f.csft as "CSFT", f.maid as "MAID",
          f.estt as "ESTT", f.actt as "ACTT", f.botm as "BOTM", f.lacl as "LACL", f.fint as "FINT", f.appt as "APPT",
          f.egsr as "EGSR", f.egst as "EGST", f.padt as "PADT", f.naat as "NAAT", f.neat as "NEAT", f.pedt as "PEDT", f.ftss as "FTSS",
          f.stnd as "STND", f.phag as "PHAG", f.fhag as "FHAG", f.mhag as "MHAG", f.cncl as "CNCL", f.remc as "REMC", f.maxp as "MAXP",
          f.vipp as "VIPP", f.vipr as "VIPR", f.lbno as "LBNO", f.lbwt as "LBWT", f.paxc as "PAXC", f.exsc as "EXSC", f.exsr as "EXSR",
          f.ddes as "DDES", f.ddir as "DDIR", f.reid as "REID") h),
      (select json_object_agg(e.key, e.value order by array_position(flight.tag_order(v_setting.catalogue_site_scalars), e.key), e.key)
       from jsonb_each(f.extra) e where f.extra <> '{}'),
      (select row_to_json(s) from (
        select
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "GTNO", g.gate as "GATE", g.pgot as "PGOT", g.pgct as "PGCT",
                   g.gotm as "GOTM", g.gctm as "GCTM", g.gtyp as "GTYP"
            from flight.flight_gate g where g.flid = f.flid) t) as "GTDT",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "CKNO", g.chkc as "CHKC", g.ccls as "CCLS", g.pcot as "PCOT",
                   g.pcct as "PCCT", g.cotm as "COTM", g.cctm as "CCTM", g.ctyp as "CTYP"
            from flight.flight_checkin g where g.flid = f.flid) t) as "CKDT",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "CLNO", g.belt as "BELT", g.bcls as "BCLS", g.pcot as "PCOT",
                   g.pcct as "PCCT", g.fbag as "FBAG", g.lbag as "LBAG", g.btyp as "BTYP"
            from flight.flight_belt g where g.flid = f.flid) t) as "CLDT",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "CHNO", g.chut as "CHUT", g.chcls as "CHCLS", g.pcbt as "PCBT",
                   g.pcet as "PCET", g.cbtm as "CBTM", g.cetm as "CETM", g.chtyp as "CHTYP"
            from flight.flight_chute g where g.flid = f.flid) t) as "CHDT",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "PSNO", g.psst as "PSST", g.stst as "STST", g.stet as "STET"
            from flight.flight_stand g where g.flid = f.flid) t) as "PSDT",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "CSNO", g.chtm as "CHTM", g.chid as "CHID", g.chst as "CHST"
            from flight.flight_chock g where g.flid = f.flid) t) as "CHOT",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.code as "CODE", g.strt as "STRT", g.dura as "DURA", g.text as "TEXT"
            from flight.flight_delay g where g.flid = f.flid) t) as "DELY",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "ASNO", g.abdg as "ABDG", g.abop as "ABOP", g.aotm as "AOTM"
            from flight.flight_bridge g where g.flid = f.flid) t) as "ABTM",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "RTNO", g.apcd as "APCD", g.scat as "SCAT", g.scdt as "SCDT"
            from flight.flight_route_point g where g.flid = f.flid and g.route_kind = 'ROUT') t) as "ROUT",
          (select json_agg(row_to_json(t) order by t."ORDINAL") from (
            select g.ordinal as "ORDINAL", g.source_seq as "RTNO", g.apcd as "APCD", g.scat as "SCAT", g.scdt as "SCDT"
            from flight.flight_route_point g where g.flid = f.flid and g.route_kind = 'ERUT') t) as "ERUT",
          (select json_agg(row_to_json(t) order by t."FLID") from (
            select m.flid as "FLID", m.flno as "FLNO"
            from flight.flight_schd m
            where v_setting.policy_code_share = 'LINKED' and f.state = 'ACTIVE' and f.maid is null
              and m.maid = f.flid and m.flid <> f.flid and m.state = 'ACTIVE') t) as "MAFL") s)))
  from (select distinct u.flid from unnest(p_flids) u(flid)) wanted
  join flight.flight_schd f on f.flid = wanted.flid;
end
$fn$;

comment on function flight.document(bigint[]) is 'Full state of flights as canonical JSON; a flight without a row has none';
grant execute on function flight.document(bigint[]) to msgx_app, msgx_operator, msgx_reader;
